"""Chat commands: which there are, and what a message that is one asks for. Does not own carrying them out.

Two kinds. Those of the lane `control` are handled at once, whatever runs; those of the lane `turns` in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a person gave. `argument` is what follows the name, trimmed.

    `mistake` is what to tell him where that cannot follow it: nothing is carried out then.
    """

    name: str
    argument: str
    lane: str
    mistake: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """A word that is a command. `takes` is a pattern of what may follow it.

    Followed by anything else, the message is the agent's; where `teaches` is a sentence, that is answered instead.
    """

    command: str
    lane: str
    takes: str
    help: str
    teaches: str = ""


_NOTHING = r""
_ANY = r".*"
_NAME = r"(?:[A-Za-z0-9][\w.:/@+\[\]-]{0,99})?"
_STOP = "Nothing was stopped. /stop stops what runs here, /stop all also what waits."
_NOW = "/now TEXT stops what runs here, then runs TEXT. To stop it and no more: /stop"
_AGENT = "/agent NAME chooses the agent of this conversation, in one word. /agent shows which there are."
_MODEL = "/model NAME chooses the model of this conversation, in one word. /model shows the present one."

#: In the order of `/help`. An alias has no help.
WORDS: Final[dict[str, Word]] = {
    "help": Word("help", "control", _NOTHING, "this list"),
    "start": Word("help", "control", _ANY, ""),
    "status": Word("status", "control", _NOTHING, "what runs, what waits, and how the gateway is"),
    "stop": Word("stop", "control", r"(?:all)?", "stop what runs here; /stop all also what waits", _STOP),
    "now": Word("now", "turns", r".+", "stop what runs here, then run this: /now TEXT", _NOW),
    "retry": Word("retry", "turns", _NOTHING, "run your last message again"),
    "new": Word("new", "turns", _NOTHING, "start a new session; earlier messages stay known"),
    "clear": Word("new", "turns", _NOTHING, ""),
    "reset": Word("new", "turns", _NOTHING, ""),
    "agent": Word("agent", "turns", _NAME, "show or choose this conversation's agent: /agent NAME", _AGENT),
    "model": Word("model", "turns", _NAME, "show or choose its model: /model NAME", _MODEL),
    "usage": Word("usage", "turns", _NOTHING, "what this conversation has used"),
    "unsupported": Word("unsupported", "turns", r"\w+", ""),
}

#: Emoji and other signs may stand before the slash; letters and digits make it a message.
_FORM = re.compile(r"[^\w/]*/([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)


def recognise(text: str) -> Command | None:
    """The command that the whole message is, in any case; None where it is for the agent.

    A command with a mistake is answered at once.
    """
    found = _FORM.fullmatch(text.strip())
    word = WORDS.get(found[1].lower()) if found else None
    if found is None or word is None:
        return None
    argument = found[2] or ""
    if re.fullmatch(word.takes, argument, re.DOTALL | re.IGNORECASE):
        return Command(word.command, argument, word.lane)
    return Command(word.command, argument, "control", word.teaches) if word.teaches else None


def menu() -> tuple[tuple[str, str], ...]:
    """(name, description) of each command, for a channel's menu and for `/help`."""
    return tuple((name, word.help) for name, word in WORDS.items() if word.help)


def ends_session(text: str) -> bool:
    """Whether the command in `text` forgets the conversation's session."""
    command = recognise(text)
    return command is not None and command.name == "new"
