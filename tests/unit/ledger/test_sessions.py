"""What state.json is rebuilt from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from freezegun import freeze_time

from push.ledger import arrivals, turns
from push.ledger.database import Database
from push.ledger.sessions import last_sessions
from push.model.values import Accepted, Inbound, Plan, Session, Turn
from tests.ledger.lives import rendered


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database.open(tmp_path / "push.db")
    yield database
    database.close()


def accepted(db: Database, conversation: str, text: str, kind: str = "message") -> Turn:
    count = db.one("SELECT count(*) FROM turn")
    outcome = arrivals.accept(db, Inbound("local", conversation, "ann", f"e{count}", "ann", text, 0, kind))
    assert isinstance(outcome, Accepted)
    turn = turns.get(db, outcome.turn_id)
    assert turn is not None
    return turn


def ran(db: Database, conversation: str, session_id: str | None, epoch: int, *, told: str | None = None) -> None:
    """A turn that was answered; `told` is the session that the CLI named in its output."""
    turn = accepted(db, conversation, "hello")
    turns.start(db, turn, Plan("codex", session_id, is_new=True, epoch=epoch, work_dir="/w", instructions_sha256="ab"))
    running = turns.get(db, turn.id)
    assert running is not None
    turns.answer(db, running, turns.Reply(rendered("hi"), session_id=told), "worker")


def command(db: Database, conversation: str, text: str) -> None:
    turns.answer_command(db, accepted(db, conversation, text, "command"), rendered("done"))


def found(db: Database) -> dict[str, Session]:
    return last_sessions(db, lambda text: text == "/new")


def test_an_empty_ledger_knows_none(db: Database) -> None:
    accepted(db, "local:ann", "not begun yet")
    assert found(db) == {}


@freeze_time("2026-03-01T12:00:00Z")
def test_the_newest_run_of_each_conversation_counts(db: Database) -> None:
    ran(db, "local:ann", "s1", 0)
    ran(db, "local:bob", None, 2, told="s9")
    ran(db, "local:ann", "s2", 1)
    accepted(db, "local:ann", "not begun yet")
    assert found(db) == {
        "local:ann": Session("s2", True, "codex", 1, "/w", "ab", "2026-03-01"),
        "local:bob": Session("s9", True, "codex", 2, "/w", "ab", "2026-03-01"),
    }


def test_what_new_ended_stays_ended_and_its_epoch_goes_on(db: Database) -> None:
    command(db, "local:ann", "/new")
    ran(db, "local:ann", "s1", 1)
    command(db, "local:ann", "/help")
    assert found(db)["local:ann"].uuid == "s1"
    command(db, "local:ann", "/new")
    command(db, "local:ann", "/new")
    accepted(db, "local:ann", "/new", "command")  # not carried out yet
    session = found(db)["local:ann"]
    assert (session.uuid, session.started, session.epoch) == (None, False, 3)
