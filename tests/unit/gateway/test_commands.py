"""Commands of the chat: recognised exactly, stored as rows of their lane; everything else is the agent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.audit import Audit
from push.errors import UsageError
from push.gateway import cancelling, commands, intake, replies
from push.ledger import turns
from push.ledger.database import Database
from push.model.values import Accepted, Duplicate, Inbound, Turn
from tests.unit.gateway.conftest import Sender


@pytest.mark.parametrize(
    ("text", "name", "lane"),
    [
        ("/new", "new", "turns"), (" /CLEAR \n", "new", "turns"), ("/reset", "new", "turns"),
        ("/help", "help", "control"), ("/start deep-link", "help", "control"), ("/Status", "status", "control"),
        ("🎩🎩 /stop", "stop", "control"), ("/stop ALL", "stop", "control"), ("/retry", "retry", "turns"),
        ("/agent", "agent", "turns"), ("/agent codex", "agent", "turns"), ("/usage", "usage", "turns"),
        ("/model openai/gpt-4o:high", "model", "turns"), ("/model claude-opus-4[1m]", "model", "turns"),
        ("/unsupported video_note", "unsupported", "turns"), ("/now do\nthis", "now", "turns"),
    ],
)  # fmt: skip
def test_a_command_is_recognised(text: str, name: str, lane: str) -> None:
    command = commands.recognise(text)
    assert command is not None
    assert (command.name, command.lane, command.mistake) == (name, lane, "")


@pytest.mark.parametrize(
    "text",
    [
        "/newer", "please /new", "/new now", "new", "/etc/passwd", "", "/", "/status of the build", "/help me",
        "x /stop", "//stop", "/stopall", "/unsupported", "/stop_all",
    ],
)  # fmt: skip
def test_anything_else_is_the_agents(text: str) -> None:
    assert commands.recognise(text) is None


@pytest.mark.parametrize(
    "text", ["/stop it", "/now", "/now  ", "/agent a b", "/model --yolo", "/model a\nb", "/agent ;"]
)
def test_a_wrong_argument_is_answered_at_once_with_a_sentence_that_teaches(text: str) -> None:
    command = commands.recognise(text)
    assert command is not None
    assert command.lane == "control"
    assert f"/{command.name}" in command.mistake


def test_only_new_ends_a_session() -> None:
    assert [commands.ends_session(text) for text in ("/new", "/RESET", "/new now", "/retry")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_menu_has_what_a_channel_takes() -> None:
    for name, description in commands.menu():
        assert name.islower()
        assert 3 <= len(description) <= 256
    assert [name for name, _ in commands.menu()] == [
        "help", "status", "stop", "now", "retry", "new", "agent", "model", "usage",
    ]  # fmt: skip


@pytest.fixture
def audit(home: Path) -> Audit:
    return Audit(home / "audit.jsonl", False)


def _message(text: str, event: str = "t:1") -> Inbound:
    return Inbound("local", "local:ann", "ann", event, "ann", text, 0, hold_ms=1000, joins=True)


def _accepted(db: Database, audit: Audit, text: str) -> Turn:
    turn = turns.get(db, intake.accept(db, audit, _message(text)).turn_id)
    assert turn is not None
    return turn


def test_c1_the_same_event_again_is_the_same_turn(db: Database, audit: Audit, home: Path) -> None:
    first = intake.accept(db, audit, _message("hello secretword"))
    assert isinstance(first, Accepted)
    assert intake.accept(db, audit, _message("hello secretword")) == Duplicate(first.turn_id, first.conversation_id)
    assert "secretword" not in (home / "audit.jsonl").read_text()


def test_a_command_is_stored_as_one_and_waits_for_nothing(db: Database, audit: Audit) -> None:
    turn = _accepted(db, audit, " /Help ")
    assert (turn.kind, turn.lane, turn.text, turn.not_before) == ("command", "control", " /Help ", None)


def test_now_is_a_message_that_goes_ahead(db: Database, audit: Audit) -> None:
    turn = _accepted(db, audit, "/now do\nthis")
    assert (turn.kind, turn.lane, turn.ahead, turn.text) == ("message", "turns", True, "do\nthis")


def test_every_text_is_kept_as_it_came(db: Database, audit: Audit) -> None:
    text = "a\x00b\x1b[2J\u2028\r\n" + "ü" * 500_000
    assert _accepted(db, audit, text).text == text


def test_a_lone_surrogate_is_replaced(db: Database, audit: Audit) -> None:
    text = _accepted(db, audit, "a\ud83c!").text
    assert text.startswith("a")
    assert text.endswith("!")
    text.encode()


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
