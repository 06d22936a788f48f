"""What commands show where retention has erased a text: that it was one, and when it went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push import clock
from push.cli.main import main
from push.ledger import arrivals, retention, retries
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.paths import Home
from tests.ledger import lives

ERASED_AT = "2026-03-01T12:00:00.000Z"


@pytest.fixture(autouse=True)
def _a_home_with_erased_texts(home: Path) -> None:
    db = Database.open(Home.at(home).push_db)
    with freeze_time("2026-01-01T12:00:00Z"):
        lives.deliver(db, lives.answered(db))
        arrivals.reject(db, Reading("telegram", "1", 1), "{}", "strange")
        retries.dismiss_rejected(db, 1)
    with freeze_time(ERASED_AT):
        assert len(list(retention.erase(db, clock.now_ms()))) == 3
    db.close()


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_for_a_program_it_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    turn = told(capsys, "turns", "show", "1")["turn"]
    assert (turn["text"], turn["erased_at"]) == (None, ERASED_AT)
    delivery = told(capsys, "retries", "show", "d1")["delivery"]
    assert (delivery["parts"][0]["text"], delivery["erased_at"]) == (None, ERASED_AT)
    assert delivery["parts"][0]["receipt"] == "r1.0"
    assert told(capsys, "retries", "show", "x1")["rejected"]["raw"] is None
    assert [item["text"] for item in told(capsys, "conversations", "show", "local:ann")["items"]] == [None, None]


@pytest.mark.parametrize(
    ("words", "times"),
    [
        (("turns", "show", "1"), 2),
        (("retries", "show", "d1"), 1),
        (("retries", "show", "x1"), 1),
        (("conversations", "show", "local:ann"), 2),
    ],
)
def test_for_a_person_it_is_said(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], times: int) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out.count("(erased)") == times


def test_the_proof_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "verify")["ok"] is True
