"""Chat commands: which there are, and what a message that is one asks for. Does not own carrying them out.

Two kinds. Those of the lane `control` are handled at once, whatever runs; those of the lane `turns` in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a person gave. `argument` is what follows the name, trimmed."""

    name: str
    argument: str
    lane: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word that is a command. `takes` says what may follow it: "" nothing, else a pattern."""

    command: str
    lane: str
    takes: str
    help: str


_ANY = r".*"
#: In the order of `/help`. An alias has no help.
WORDS: Final[dict[str, Word]] = {
    "help": Word("help", "control", "", "this list"),
    "start": Word("help", "control", _ANY, ""),
    "status": Word("status", "control", "", "what runs, what waits, and how the gateway is"),
    "stop": Word("stop", "control", r"(?:all)?", "stop what runs here; `/stop all` also what waits"),
    "now": Word("now", "turns", _ANY, "stop what runs here, then run this: `/now TEXT`"),
    "retry": Word("retry", "turns", "", "run your last message again"),
    "new": Word("new", "turns", "", "start a new session; earlier messages stay known"),
    "clear": Word("new", "turns", "", ""),
    "reset": Word("new", "turns", "", ""),
    "agent": Word("agent", "turns", r"\S*", "show or choose this conversation's agent: `/agent NAME`"),
    "model": Word("model", "turns", r"\S*", "show or choose its model: `/model NAME`"),
    "usage": Word("usage", "turns", "", "what this conversation has used"),
    "unsupported": Word("unsupported", "turns", r"\w+", ""),
}

#: Emoji and other signs may stand before the slash; letters and digits make it a message.
_FORM = re.compile(r"[^\w/]*/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)


def recognise(text: str) -> Command | None:
    """The command that the whole message is, in any case; None where it is for the agent."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    word = WORDS.get(found[1].lower())
    argument = (found[2] or "").strip()
    if word is None or not re.fullmatch(word.takes, argument, re.DOTALL | re.IGNORECASE):
        return None
    return Command(word.command, argument, word.lane)


def menu() -> tuple[tuple[str, str], ...]:
    """(name, description) of each command, for a channel's menu and for `/help`."""
    return tuple((name, word.help) for name, word in WORDS.items() if word.help)


def ends_session(text: str) -> bool:
    """Whether the command in `text` forgets the conversation's session."""
    command = recognise(text)
    return command is not None and command.name == "new"
