"""`push usage`: turns, tokens and cost by day, agent and conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push import clock
from push.cli.main import main
from push.ledger import turns, usage
from push.ledger.database import Database
from push.model.values import Usage
from push.paths import Home
from tests.ledger import lives


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    with closing(Database.open(Home.at(home).push_db)) as database:
        yield database


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine stands there."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


def ran(db: Database, at: str, user: str = "ann", agent: str = "claude", used: Usage | None = None) -> None:
    """A message of which an agent made an answer."""
    with freeze_time(at):
        turn = lives.start(db, lives.accept(db, lives.message(user)), replace(lives.PLAN, agent=agent))
        turns.answer(db, turn, turns.Reply(lives.rendered("hi"), used), "worker")


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["usage", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("berlin")
def test_sums_by_day_agent_and_conversation(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    ran(db, "2026-02-20T12:00:00Z", used=Usage(1, 1, 1.0))  # too long ago
    ran(db, "2026-02-28T22:59:59Z", used=Usage(10, 20, 0.25))
    ran(db, "2026-02-28T23:00:00Z", "bob", "codex", Usage(1000, 200))  # a day later in Berlin
    with freeze_time("2026-03-01T12:00:00Z"):
        lives.fail(db, lives.start(db, lives.accept(db, lives.message("bob"))))
        lives.accept(db)  # no agent was run for it yet
        found = told(capsys, "--days", "2")
    assert (found["zone"], found["since"], found["days"]) == ("Europe/Berlin", "2026-02-27T23:00:00.000Z", 2)
    assert found["total"] == {
        "turns": 3,
        "input_tokens": 1010,
        "output_tokens": 220,
        "cost_usd": 0.25,
        "priced_turns": 1,
    }
    rows = [(item["by"], item["name"], item["turns"], item["cost_usd"]) for item in found["items"]]
    assert rows == [
        ("day", "2026-02-28", 1, 0.25),
        ("day", "2026-03-01", 2, None),
        ("agent", "codex", 1, None),
        ("agent", "claude", 2, 0.25),
        ("conversation", "local:bob", 2, None),
        ("conversation", "local:ann", 1, 0.25),
    ]


def test_for_a_person_what_is_unknown_is_not_nought(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    now = clock.iso(clock.now_ms()) or ""
    ran(db, now, "ann", used=Usage(1234, 5, 0.5))
    ran(db, now, "bob", "codex", Usage(1, None))
    assert main(["usage", "--by", "agent"]) == 0
    found = capsys.readouterr()
    assert [line.split() for line in found.out.splitlines()] == [
        ["AGENT", "TURNS", "TOKENS", "IN", "TOKENS", "OUT", "COST", "(USD)"],
        ["claude", "1", "1,234", "5", "0.50"],
        ["codex", "1", "1", "-", "-"],
        ["total", "2", "1,235", "5", "0.50"],
    ]
    assert found.err == "The cost is known of 1 of 2 turns.\n"
    assert main(["usage", "--by", "conversation", "--limit", "1"]) == 0
    assert "1 conversations more: --limit 2" in capsys.readouterr().err


def test_nothing_was_used(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--days", "1"]) == 0
    assert capsys.readouterr().err.startswith("No agent has run since 20")
    assert told(capsys)["items"] == []


@pytest.mark.parametrize("by", usage.GROUPS)
def test_only_the_days_that_are_asked_for_are_looked_at(db: Database, by: str) -> None:
    plans: list[str] = []

    class Watched:
        def rows(self, sql: str, parameters: tuple[object, ...]) -> list[object]:
            plans.extend(str(row[-1]) for row in db.rows(f"EXPLAIN QUERY PLAN {sql}", parameters))
            return []

    usage.shares(Watched(), by, 5)  # type: ignore[arg-type]
    assert plans[0] == "SEARCH t USING INDEX turn_used (queued_at>?)"
