"""The demonstration agent: answers without any model, so that Push can be tried on a machine that has none.

Owns its words. A program of its own for the agent `command`: it imports nothing of Push, and starts in milliseconds.
"""

from __future__ import annotations

import os
import sys

QUOTE_LIMIT = 300  # characters

_GREETINGS = frozenset({"hello", "hi", "hey", "hallo", "moin", "hei", "moi", "bonjour", "hola", "ciao"})
_ABOUT = """\
I am only the demonstration: no model has read your message. To talk to a real agent, install claude, codex or pi, \
log in to it, and then: push init --agent claude (or codex, or pi)."""


def program() -> tuple[str, ...]:
    """The command that is this agent."""
    return (sys.executable, "-I", os.path.abspath(__file__))  # noqa: PTH100 - pathlib takes longer than the answer


def reply(message: str, *, interrupted: bool) -> str:
    """The answer to a message."""
    text = " ".join(message.split())
    if not text:
        return f"You sent an empty message.\n\n{_ABOUT}"
    shown = text if len(text) <= QUOTE_LIMIT else f"{text[:QUOTE_LIMIT]} … ({len(text)} characters)"
    greeting = "Hello!" if text.strip("!,. ").lower() in _GREETINGS else f"You wrote: {shown}"
    again = "I was interrupted at my first attempt; this is the second.\n\n" if interrupted else ""
    return f"{again}{greeting}\n\n{_ABOUT}"


def main() -> None:
    """Read the message from standard input, write the reply to standard output."""
    message = sys.stdin.buffer.read().decode("utf-8", "replace")
    answer = reply(message, interrupted=os.environ.get("PUSH_INTERRUPTED") == "1")  # noqa: TID251 - no import of Push
    sys.stdout.buffer.write(answer.encode() + b"\n")


if __name__ == "__main__":
    main()
