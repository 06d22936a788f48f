"""Chat commands that are handled in order, as turns of their own, without an agent."""

from __future__ import annotations

from push.state import StateFile

_NAMES = {"/help": "help", "/new": "new", "/clear": "new", "/reset": "new"}

HELP = """\
Whatever you write goes to your agent, and its answer comes back here.
/new    start a new session (also /clear, /reset); earlier messages stay known
/help   this text
Anything else that begins with a slash goes to the agent."""

NEW_SESSION = "A new session begins with your next message."


def recognise(text: str) -> str | None:
    """The command that the whole message is, trimmed and in any case; None where it is for the agent."""
    return _NAMES.get(text.strip().lower())


def run(text: str, conversation: str, state: StateFile) -> str:
    """Carry out the command and return what to answer."""
    if recognise(text) == "new":
        state.reset_session(conversation)
        return NEW_SESSION
    return HELP
