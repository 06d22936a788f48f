"""The embedded default: the first agent CLI on PATH that answers, else the demonstration, and it says which."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from freezegun import freeze_time

from push.app import embedded
from push.config.load import load_or_default
from push.config.settings import EMBEDDED_AGENTS, Settings

_ANSWERS = """#!{python} -I
import json, sys
sys.stdin.read()
open({log!r}, "a").write("asked\\n")
session = sys.argv[sys.argv.index("--session-id") + 1]
result = {{"type": "result", "subtype": "success", "is_error": False, "result": "ready", "session_id": session}}
print(json.dumps(result))
"""
_FAILS = "#!/bin/sh\necho 'Not logged in' >&2\nexit 1\n"


class Machine:
    """A PATH with agents on it, and what `choose` said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.said: list[str] = []

    def install(self, name: str, *, answers: bool) -> None:
        program = self.folder / name
        text = _ANSWERS.format(python=sys.executable, log=str(self.log)) if answers else _FAILS
        program.write_text(text)
        program.chmod(0o755)

    def choose(self) -> Settings:
        self.said.clear()
        return embedded.choose(load_or_default(), self.said.append)

    @property
    def times_asked(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


@pytest.fixture
def machine(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert not any(shutil.which(name) for name in EMBEDDED_AGENTS)
    return Machine(tmp_path)


def test_without_any_agent_the_demonstration_answers(machine: Machine) -> None:
    chosen = machine.choose()
    assert chosen.agent == "command"
    assert chosen.command is not None
    assert machine.said == ["Agent: the demonstration, which has no model."]


def test_the_first_that_answers_is_taken_and_asked_once_a_day(machine: Machine, home: Path) -> None:
    machine.install("claude", answers=True)
    machine.install("codex", answers=False)
    assert machine.choose().agent == "claude"
    assert machine.said[-1] == "Agent: claude, found on PATH and answering."
    assert machine.choose().agent == "claude"
    assert machine.times_asked == 1
    assert (home / "run/agent.json").stat().st_mode & 0o777 == 0o600
    assert list((home / "spool").iterdir()) == []


def test_one_that_does_not_answer_is_named_and_not_taken(machine: Machine) -> None:
    machine.install("claude", answers=False)
    assert machine.choose().agent == "command"
    assert machine.said[-2].startswith("On PATH but not answering: claude (")
    assert machine.said[-1].startswith("They are asked again in 10 minutes, or at once after: rm /")


def test_a_newly_installed_agent_is_noticed_at_once(machine: Machine) -> None:
    assert machine.choose().agent == "command"
    machine.install("claude", answers=True)
    assert machine.choose().agent == "claude"
    (machine.folder / "claude").unlink()
    assert machine.choose().agent == "command"


def test_a_silent_agent_is_asked_again_after_ten_minutes(machine: Machine, home: Path) -> None:
    machine.install("claude", answers=False)
    machine.choose()
    machine.install("claude", answers=True)
    assert machine.choose().agent == "command"
    record = home / "run/agent.json"
    past = json.loads(record.read_text())
    past["at"] -= 11 * 60 * 1000
    record.write_text(json.dumps(past))
    assert machine.choose().agent == "claude"


@pytest.mark.parametrize("damage", ["", "{", '{"at": 1}', "[]"])
def test_a_damaged_record_is_asked_anew(machine: Machine, home: Path, damage: str) -> None:
    machine.choose()
    (home / "run/agent.json").write_text(damage)
    assert machine.choose().agent == "command"


def test_the_assistant_s_folder_is_made_and_never_overwritten(machine: Machine, home: Path) -> None:
    machine.choose()
    soul = home / "assistant/SOUL.md"
    soul.write_text("mine")
    machine.choose()
    assert soul.read_text() == "mine"


def test_a_record_of_tomorrow_is_not_believed(machine: Machine) -> None:
    machine.install("claude", answers=True)
    with freeze_time("2030-01-01"):
        machine.choose()
    machine.choose()
    assert machine.times_asked == 2
