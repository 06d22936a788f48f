"""Commands of the chat: recognised exactly, handled without an agent, everything else is the agent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.audit import Audit
from push.errors import UsageError
from push.gateway import cancelling, commands, intake, replies
from push.ledger import turns
from push.ledger.database import Database
from push.model.values import Accepted, Duplicate, Inbound
from push.state import StateFile
from tests.unit.gateway.conftest import Sender


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/new", "new"), (" /CLEAR \n", "new"), ("/reset", "new"), ("/help", "help"),
        ("/newer", None), ("please /new", None), ("/new now", None), ("new", None), ("/etc/passwd", None), ("", None),
    ],
)  # fmt: skip
def test_only_the_whole_message_is_a_command(text: str, found: str | None) -> None:
    assert commands.recognise(text) == found


def test_new_raises_the_epoch(state: StateFile) -> None:
    before = state.epoch("local:ann")
    assert commands.run("/new", "local:ann", state) == commands.NEW_SESSION
    assert state.epoch("local:ann") != before


def test_help_changes_nothing(state: StateFile, home: Path) -> None:
    assert commands.run("/help", "local:ann", state) == commands.HELP
    assert not (home / "state.json").exists()


@pytest.fixture
def audit(home: Path) -> Audit:
    return Audit(home / "audit.jsonl", False)


def _message(text: str, event: str = "t:1") -> Inbound:
    return Inbound("local", "local:ann", "ann", event, "ann", text, 0)


def test_c1_the_same_event_again_is_the_same_turn(db: Database, audit: Audit, home: Path) -> None:
    first = intake.accept(db, audit, _message("hello secretword"))
    assert isinstance(first, Accepted)
    assert intake.accept(db, audit, _message("hello secretword")) == Duplicate(first.turn_id, first.conversation_id)
    assert "secretword" not in (home / "audit.jsonl").read_text()


def test_a_command_is_stored_as_one(db: Database, audit: Audit) -> None:
    accepted = intake.accept(db, audit, _message(" /Help "))
    turn = turns.get(db, accepted.turn_id)
    assert turn is not None
    assert (turn.kind, turn.text) == ("command", " /Help ")


def test_every_text_is_kept_as_it_came(db: Database, audit: Audit) -> None:
    text = "a\x00b\x1b[2J\u2028\r\n" + "ü" * 500_000
    turn = turns.get(db, intake.accept(db, audit, _message(text)).turn_id)
    assert turn is not None
    assert turn.text == text


def test_a_lone_surrogate_is_replaced(db: Database, audit: Audit) -> None:
    turn = turns.get(db, intake.accept(db, audit, _message("a\ud83c!")).turn_id)
    assert turn is not None
    assert turn.text.startswith("a")
    assert turn.text.endswith("!")
    turn.text.encode()


def test_a_message_over_the_limit_is_refused_and_not_stored(db: Database, audit: Audit) -> None:
    with pytest.raises(UsageError, match=r"4,194,304"):
        intake.accept(db, audit, _message("x" * (intake.MAX_MESSAGE_BYTES + 1)))
    assert turns.open_conversations(db) == []


def test_a_waiting_or_queued_turn_is_cancelled_at_once(db: Database, send: Sender, home: Path) -> None:
    turn = send("one")
    assert cancelling.cancel(db, home / "spool", turn.id)
    again = turns.get(db, turn.id)
    assert again is not None
    assert again.state == "cancelled"
    assert not cancelling.cancel(db, home / "spool", turn.id)
    assert not cancelling.cancel(db, home / "spool", 999)


def test_no_sentence_for_a_person_holds_detail() -> None:
    for code in replies.CODES:
        sentence = replies.failure(code, 7)
        assert sentence.startswith("⚠️ ")
        assert "{" not in sentence
    assert "push turns show 7" in replies.failure("never heard of", 7)
