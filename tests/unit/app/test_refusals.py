"""However much a stranger writes, he is one record a minute, and one row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from push import clock
from push.app.refusals import Refusals
from push.audit import Audit
from push.ledger import allowlist
from push.ledger.database import Database
from push.providers.base import Ignored

STRANGER = Ignored("not_allowlisted", "text", "666", "666")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database.open(tmp_path / "push.db")
    yield database
    database.close()


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[Audit]:
    made = Audit(tmp_path / "audit.jsonl", content=False, secrets=())
    yield made
    made.close()


def counts(tmp_path: Path) -> list[tuple[str, int]]:
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    return [(line["sender"], line["count"]) for line in lines]


def test_a_flood_is_a_record_at_once_and_one_when_the_minute_is_over(
    db: Database, audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    refusals = Refusals(db, audit, "telegram")
    for _ in range(5):
        refusals.take(STRANGER)
    refusals.flush()
    assert counts(tmp_path) == [("666", 1)]
    now += 61
    refusals.flush()
    assert counts(tmp_path) == [("666", 1), ("666", 4)]
    for _ in range(3):
        refusals.take(STRANGER)
    refusals.flush()
    refusals.close()
    assert counts(tmp_path)[2:] == [("666", 1), ("666", 2)]
    assert [(row.sender, row.count) for row in allowlist.refusals(db)] == [("666", 8)]


def test_many_strangers_are_bounded_in_memory_and_in_the_ledger(db: Database, audit: Audit) -> None:
    refusals = Refusals(db, audit, "telegram")
    for number in range(1500):
        refusals.take(Ignored("not_allowlisted", "text", str(number), str(number)))
        if number % 100 == 99:
            refusals.flush()
    assert len(refusals._minutes) <= 1001
    assert len(allowlist.refusals(db, 10_000)) <= allowlist.MAX_REFUSALS + 100
