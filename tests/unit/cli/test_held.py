"""What a restored copy holds, for its owner: listed, released, given up, counted; and a chat's own commands pass it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from push.gateway import presses, standing
from push.ledger import conversations, held, outbox, turns
from push.ledger.database import Database
from push.ledger.held import Held
from push.paths import Home
from push.providers.base import Pressed
from tests.ledger import lives
from tests.unit.cli.test_rows import Said


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    """A copy: two messages of ann (t1, t2), one of bob (t3), an answer to cyd (d1)."""
    with closing(Database.open(Home.at(home).push_db)) as database:
        lives.start(database, lives.accept(database, lives.message("ann")))
        lives.accept(database, lives.message("ann"))
        lives.accept(database, lives.message("bob"))
        lives.answered(database, "cyd")
        held.hold_everything(database)
        yield database


def test_it_is_listed_with_the_command_that_releases_it(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    items = Said(capsys, "retries", "list", "--json").json["items"]
    assert [(item["id"], item["state"], item["reason"], item["hint"]) for item in items] == [
        (name, "held", "restored", f"push retries now {name}") for name in ("t1", "t2", "t3", "d1")
    ]
    assert "held" in Said(capsys, "retries", "list").out
    assert held.count(db).rows == 4


def test_status_counts_it_apart(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    found = Said(capsys, "status", "--json").json
    assert (found["turns"]["held"], found["turns"]["queued"]) == (3, 0)
    assert (found["deliveries"]["held"], found["deliveries"]["unknown"]) == (1, 0)
    assert found["attention"] == [
        {"message": "4 messages and answers of before the restore held.", "hint": "push retries list"}
    ]
    out = Said(capsys, "status").out
    assert "3 held since this copy was restored" in out
    assert "1 held" in out
    assert held.count(db) == Held(3, 1)


def test_some_are_released_or_all(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    several = Said(capsys, "retries", "now", "t3", "d1", "--json").json["items"]
    assert [(one["kind"], one["id"]) for one in several] == [("turn", "t3"), ("delivery", "d1")]
    assert held.count(db) == Held(2, 0)
    assert outbox.get(db, 1).repeat
    one = Said(capsys, "retries", "now", "t2", "--json").json
    assert (one["kind"], one["id"]) == ("turn", "t2")
    rest = Said(capsys, "retries", "now", "--held", "--json").json
    assert rest["released"] == {"turns": 1, "deliveries": 0}
    assert "Nothing is held." in Said(capsys, "retries", "now", "--held").err
    assert [conversation for conversation, _ in turns.open_conversations(db)] == [1, 2]


@pytest.mark.parametrize("words", [(), ("t1", "--held")])
def test_either_rows_are_named_or_all_that_are_held(
    db: Database, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    said = Said(capsys, "retries", "now", *words)
    assert said.code == 2
    assert "next: push retries list" in said.err
    assert held.count(db).rows == 4


def test_one_is_given_up(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    assert Said(capsys, "retries", "drop", "t1", "--yes").out == "t1 is given up.\n"
    assert Said(capsys, "retries", "drop", "d1", "--yes").out == "d1 is given up.\n"
    assert (lives.state_of(db, "turn", 1), lives.state_of(db, "outbound", 1)) == ("cancelled", "dropped")
    assert held.count(db) == Held(2, 0)
    assert Said(capsys, "verify").code == 0


def test_a_paused_conversation_keeps_what_is_released(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    conversations.pause(db, "local:ann")
    assert Said(capsys, "retries", "now", "t1").code == 0
    assert turns.head(db, 1) is None
    assert Said(capsys, "verify").code == 0


def test_a_chats_status_says_so_and_counts_it_nowhere_else(db: Database) -> None:
    text = standing.text(db, 1, {})
    assert "Here: nothing runs, nothing waits." in text
    assert "Gateway: 0 running, 0 waiting." in text
    assert "4 messages and answers held; on the machine: push retries list" in text


def test_the_stop_button_of_a_run_that_was_under_way_cancels_it(db: Database, home: Path) -> None:
    pressed = Pressed("1", "ann", "local:ann", "ann", presses.stop_button(1), None)
    assert presses.press(db, Home.at(home).spool, pressed).text == "Stopping."
    assert lives.state_of(db, "turn", 1) == "cancelled"
    assert held.count(db) == Held(2, 1)
