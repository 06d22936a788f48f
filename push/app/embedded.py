"""The embedded default: with no config.toml, the first agent CLI on PATH that answers, else the demonstration.

Owns the choice and its record in `run/agent.json`; does not own the settings' other defaults (`push.config`).
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from push import assistant, clock
from push.agents import demo
from push.config.settings import EMBEDDED_AGENTS, Settings
from push.gateway.probing import PROBE_SECONDS, probe_all
from push.paths import make_private, open_private

_ANSWERING_MS = 24 * 3600 * 1000
_SILENT_MS = 10 * 60 * 1000  # somebody may be logging in to one of them right now


@dataclass(frozen=True, slots=True)
class Choice:
    """An agent, its program, and the sentence that says why. `asked` holds the CLIs that were on PATH."""

    agent: str
    program: tuple[str, ...]
    why: str
    asked: tuple[str, ...]


def choose(settings: Settings, say: Callable[[str], None]) -> Settings:
    """The settings with an agent that answers; `say` gets a line for each step.

    Each CLI on PATH is asked for one word. The finding is kept for a day, or for ten minutes where none answered,
    and forgotten at once when a CLI is installed or removed.
    """
    make_private(settings.home.run)
    assistant.scaffold_default(settings.assistant_root)
    record = settings.home.run / "agent.json"
    present = tuple(name for name in EMBEDDED_AGENTS if shutil.which(name))
    choice = _recorded(record, present)
    if choice is None:
        choice = _ask(settings, present, say)
        with os.fdopen(open_private(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file:
            json.dump({"at": clock.now_ms()} | asdict(choice), file)
    say(choice.why)
    if choice.agent == "command" and present:
        say(f"They are asked again in {_SILENT_MS // 60_000} minutes, or at once after: rm {shlex.quote(str(record))}")
    return settings.with_agent(choice.agent, choice.program if choice.agent == "command" else None)


def _recorded(record: Path, present: tuple[str, ...]) -> Choice | None:
    try:
        raw = json.loads(record.read_text())
        choice = Choice(str(raw["agent"]), tuple(raw["program"]), str(raw["why"]), tuple(raw["asked"]))
        age = clock.now_ms() - int(raw["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    limit = _SILENT_MS if choice.agent == "command" and present else _ANSWERING_MS
    return choice if choice.asked == present and 0 <= age < limit else None


def _ask(settings: Settings, present: tuple[str, ...], say: Callable[[str], None]) -> Choice:
    """Ask them all at once; the first in our order that answers is taken."""
    if present:
        say(f"Asking {', '.join(present)} for one word, at most {PROBE_SECONDS:.0f} s …")
    codes = probe_all(settings, present)
    for name, code in codes.items():
        if code is None:
            return Choice(name, (name,), f"Agent: {name}, found on PATH and answering.", present)
    silent = ", ".join(f"{name} ({str(code).replace('_', ' ')})" for name, code in codes.items())
    found = f"On PATH but not answering: {silent}. " if silent else ""
    return Choice("command", demo.program(), f"{found}Agent: the demonstration, which has no model.", present)
