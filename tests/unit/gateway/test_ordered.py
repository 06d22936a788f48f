"""Commands that are handled in order: what each does, and that doing it twice is harmless."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from push.config.settings import Settings
from push.gateway.ordered import NEW_SESSION, NOTHING_TO_RETRY, Again, Ordered
from push.ledger import choices, turns
from push.ledger.choices import Choice
from push.ledger.database import Database
from push.ledger.turns import Reply
from push.model.values import Part, Plan, Rendered, Usage
from push.state import StateFile
from tests.unit.gateway.conftest import Sender

PLAN = Plan("claude", None, True, 0, "/", "")


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """claude and command are there, codex is not, pi neither."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    missing = str(tmp_path / "missing")
    return replace(settings, claude_bin=str(program), codex_bin=missing, pi_bin=missing, command=("true",))


@pytest.fixture
def ordered(settings: Settings, db: Database, state: StateFile) -> Ordered:
    return Ordered(settings, db, state)


def _said(ordered: Ordered, send: Sender, text: str) -> str:
    turn = send(text)
    first, second = ordered.run(turn), ordered.run(turn)
    assert first == second or text.startswith(("/agent ", "/model "))
    assert isinstance(second, str)
    return second


def test_new_raises_the_epoch(ordered: Ordered, state: StateFile, send: Sender) -> None:
    before = state.epoch("local:ann")
    assert _said(ordered, send, "/new") == NEW_SESSION
    assert state.epoch("local:ann") > before


def test_retry_is_the_last_message_with_what_belongs_to_it(ordered: Ordered, db: Database, send: Sender) -> None:
    assert ordered.run(send("/retry")) == NOTHING_TO_RETRY
    send("older")
    last = send("do it", context="[in reply to: x]")
    send("elsewhere", user="bob")
    again = send("/retry")
    assert ordered.run(again) == Again("do it", "[in reply to: x]")
    turns.become_message(db, again, "do it", last.context)
    assert ordered.run(send("/retry")) == Again("do it", "[in reply to: x]")


def test_an_agent_is_chosen_only_where_it_is_there(ordered: Ordered, db: Database, send: Sender) -> None:
    here = send("hello").conversation_id
    assert "claude, as the settings say. Available: claude, command." in _said(ordered, send, "/agent")
    assert "Available" in _said(ordered, send, "/agent nobody")
    assert "not found" in _said(ordered, send, "/agent codex")
    assert choices.of(db, here) == Choice()
    assert "command answers here" in _said(ordered, send, "/agent Command")
    assert choices.of(db, here) == Choice("command")
    assert "command, chosen here" in _said(ordered, send, "/agent")
    assert "claude" in _said(ordered, send, "/agent default")
    assert choices.of(db, here) == Choice()


def test_an_agent_without_a_program_is_not_set_up(
    settings: Settings, db: Database, state: StateFile, send: Sender
) -> None:
    assert "not set up" in _said(Ordered(replace(settings, command=None), db, state), send, "/agent command")


def test_a_model_belongs_to_its_agent(ordered: Ordered, db: Database, send: Sender) -> None:
    here = send("hello").conversation_id
    assert "its own choice" in _said(ordered, send, "/model")
    assert "claude uses the model Opus" in _said(ordered, send, "/model Opus")
    assert choices.of(db, here) == Choice("claude", "Opus")
    assert "Opus, chosen here" in _said(ordered, send, "/model")
    _said(ordered, send, "/agent claude")
    assert choices.of(db, here) == Choice("claude", "Opus")
    _said(ordered, send, "/agent command")
    assert choices.of(db, here) == Choice("command")
    assert "takes no model" in _said(ordered, send, "/model Opus")
    _said(ordered, send, "/agent claude")
    _said(ordered, send, "/model Opus")
    assert "again" in _said(ordered, send, "/model default")
    assert choices.of(db, here) == Choice("claude")


def test_usage_sums_what_runs_said(ordered: Ordered, db: Database, send: Sender) -> None:
    assert _said(ordered, send, "/usage") == "No agent has run in this conversation yet."
    for number, usage in enumerate((Usage(1000, 20, 0.25), Usage(500, 4, 0.5), None)):
        turn = send(f"m{number}")
        turns.start(db, turn, PLAN)
        running = turns.get(db, turn.id)
        assert running is not None
        turns.answer(db, running, Reply(Rendered((Part("fine"),)), usage), "worker")
    with db.write():
        db.execute("UPDATE turn SET queued_at = queued_at - 90000000 WHERE text = 'm0'")
    assert _said(ordered, send, "/usage") == (
        "In the last 24 hours: 2 messages, 500 tokens read, 4 written, $0.50.\n"
        "In all: 3 messages, 1,500 tokens read, 24 written, $0.75."
    )


def test_what_cannot_be_read_is_said(ordered: Ordered, send: Sender) -> None:
    assert _said(ordered, send, "/unsupported video_note") == (
        "Push can read only text so far; this video note was not read."
    )
