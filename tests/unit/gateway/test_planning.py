"""Which session a turn resumes, when it starts afresh, and what is kept afterwards."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from push.config.settings import Settings
from push.errors import ConfigError
from push.gateway.planning import Planner, Prepared
from push.ledger import choices, outbox, turns
from push.ledger.choices import Choice
from push.ledger.database import Database
from push.ledger.turns import Reply
from push.model.values import Part, Rendered, Turn
from push.state import StateCorrupt, StateFile
from tests.unit.gateway.conftest import Sender

SESSION = str(uuid.UUID(int=7))


@pytest.fixture
def planner(settings: Settings, db: Database, state: StateFile) -> Planner:
    return Planner(settings, db, state)


def _begun(db: Database, turn: Turn, prepared: Prepared) -> Turn:
    turns.start(db, turn, prepared.plan)
    running = turns.get(db, turn.id)
    assert running is not None
    return running


def _answered(db: Database, planner: Planner, turn: Turn, reply: str = "fine", session: str = SESSION) -> None:
    """Run the turn, with its answer printed."""
    running = _begun(db, turn, planner.prepare(turn))
    planner.keep_session(running, session)
    turns.answer(db, running, Reply(Rendered((Part(reply),))), "worker")
    row = outbox.open_for(db, "local", "ann")[-1][0]
    assert outbox.claim(db, row) is None
    outbox.part_delivered(db, row, 0, "receipt")


def test_the_first_turn_begins_a_session_and_the_second_resumes_it(
    planner: Planner, db: Database, send: Sender
) -> None:
    first = planner.prepare(turn := send("one"))
    assert first.plan.is_new
    assert first.plan.session_id is not None
    _answered(db, planner, turn, session=first.plan.session_id)
    second = planner.prepare(send("two"))
    assert (second.plan.is_new, second.plan.session_id) == (False, first.plan.session_id)
    assert second.prompt == "two"


@pytest.mark.parametrize("change", ["backend", "work_dir", "instructions"])
def test_a_change_rotates_the_session_and_rehydrates(
    settings: Settings, db: Database, state: StateFile, send: Sender, tmp_path: Path, change: str
) -> None:
    _answered(db, Planner(settings, db, state), send("one"), reply="an answer")
    if change == "backend":
        settings = settings.with_agent("codex")
    elif change == "work_dir":
        (tmp_path / "SOUL.md").write_text((settings.assistant_root / "SOUL.md").read_text())
        settings = replace(settings, assistant_root=tmp_path)
    else:
        (settings.assistant_root / "SOUL.md").write_text("Be brief.")
    prepared = Planner(settings, db, state).prepare(send("two"))
    assert prepared.plan.is_new
    assert prepared.plan.session_id != SESSION
    assert prepared.plan.rehydrated == 2
    assert "an answer" in prepared.prompt
    assert prepared.prompt.endswith("two")


def test_pi_reads_changed_instructions_in_its_session(
    settings: Settings, db: Database, state: StateFile, send: Sender
) -> None:
    planner = Planner(settings.with_agent("pi"), db, state)
    _answered(db, planner, send("one"))
    (settings.assistant_root / "SOUL.md").write_text("Be brief.")
    prepared = planner.prepare(send("two"))
    assert (prepared.plan.is_new, prepared.plan.session_id) == (False, SESSION)
    assert prepared.instructions.startswith("Be brief.")


def test_only_delivered_answers_are_remembered(
    settings: Settings, db: Database, state: StateFile, send: Sender
) -> None:
    planner = Planner(settings, db, state)
    running = _begun(db, turn := send("one"), planner.prepare(turn))
    turns.answer(db, running, Reply(Rendered((Part("never printed"),))), "worker")
    state.reset_session("local:ann")
    prepared = planner.prepare(send("two"))
    assert prepared.plan.rehydrated == 1
    assert "never printed" not in prepared.prompt


def test_commands_are_not_part_of_what_was_said(planner: Planner, db: Database, state: StateFile, send: Sender) -> None:
    _answered(db, planner, send("one"))
    turns.answer_command(db, send("/new"), Rendered((Part("done"),)))
    state.reset_session("local:ann")
    assert "/new" not in planner.prepare(send("two")).prompt


def test_new_in_the_middle_of_a_turn_wins(planner: Planner, db: Database, state: StateFile, send: Sender) -> None:
    running = _begun(db, turn := send("one"), planner.prepare(turn))
    state.reset_session("local:ann")
    planner.keep_session(running, SESSION)
    assert state.session("local:ann") is None


def test_the_command_agent_gets_history_only_when_asked_for(
    settings: Settings, db: Database, state: StateFile, send: Sender
) -> None:
    settings = settings.with_agent("command", ("cat",))
    _answered(db, Planner(settings, db, state), send("one"))
    assert Planner(settings, db, state).prepare(send("two")).prompt == "two"
    asked = Planner(replace(settings, command_history=True), db, state).prepare(send("three"))
    assert asked.plan.rehydrated == 2  # "two" is not answered yet


def test_an_interrupted_message_is_given_with_a_note(planner: Planner, db: Database, send: Sender) -> None:
    running = _begun(db, turn := send("one"), planner.prepare(turn))
    turns.interrupt(db, running, "recovery")
    again = turns.get(db, turn.id)
    assert again is not None
    assert "interrupted" in planner.prepare(again).prompt


def test_a_session_id_that_no_cli_made_is_not_used(planner: Planner, db: Database, send: Sender) -> None:
    _answered(db, planner, send("one"), session="--dangerous")
    assert planner.prepare(send("two")).plan.is_new


@pytest.mark.parametrize("broken", ["soul", "state", "program"])
def test_what_is_broken_is_an_error_with_a_next_step(
    settings: Settings, db: Database, state: StateFile, send: Sender, home: Path, broken: str
) -> None:
    if broken == "soul":
        (settings.assistant_root / "SOUL.md").unlink()
    elif broken == "state":
        (home / "state.json").write_text("{")
    else:
        settings = settings.with_agent("command")
    with pytest.raises(StateCorrupt if broken == "state" else ConfigError) as caught:
        Planner(settings, db, state).prepare(send("one"))
    assert caught.value.hint


def test_a_chosen_agent_and_model_take_the_place_of_the_settings(
    settings: Settings, db: Database, state: StateFile, send: Sender
) -> None:
    planner = Planner(replace(settings, codex_model="small"), db, state)
    turn = send("one")
    choices.choose(db, turn.conversation_id, Choice("codex"))
    prepared = planner.prepare(turn)
    assert (prepared.plan.agent, prepared.adapter.name) == ("codex", "codex")
    assert planner.adapter("codex") != planner.adapter("codex", "large")
    choices.choose(db, turn.conversation_id, Choice("codex", "large"))
    assert planner.prepare(turn).adapter == planner.adapter("codex", "large")
