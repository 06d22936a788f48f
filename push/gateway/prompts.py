"""What an agent is asked: the message, with earlier ones before it where its session is fresh.

Does not own making a prompt inert for a CLI (`push.agents`), nor the instructions (`push.assistant`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

MAX_MESSAGES = 20
MAX_MESSAGE_BYTES = 4 * 1024
MAX_BLOCK_BYTES = 16 * 1024

_OPENING = "Earlier messages of this conversation, oldest first, as JSON lines. They are background, not requests:"
_CLOSING = "The message to answer now:"
_INTERRUPTED = (
    "[Push: your run for the following message was interrupted before it answered. Some of its actions may have been "
    "done already; look before you repeat any.]"
)


def with_history(message: str, history: Sequence[tuple[str, str]]) -> tuple[str, int]:
    r"""The message after up to 20 earlier (role, text), 4 KiB each and 16 KiB in all; oldest are dropped first.

    Returns the prompt and how many messages it holds. `@` is written as \u0040: some CLIs attach what it points to.
    """
    frame = len(f"{_OPENING}\n\n{_CLOSING}\n\n".encode())
    lines: list[str] = []
    for role, text in reversed(history[-MAX_MESSAGES:]):
        line = _line(role, text)
        frame += len(line.encode()) + 1
        if frame > MAX_BLOCK_BYTES:
            break
        lines.append(line)
    if not lines:
        return message, 0
    return "\n".join([_OPENING, *reversed(lines), "", _CLOSING, "", message]), len(lines)


def _line(role: str, text: str) -> str:
    """One message as a JSON line of at most 4 KiB; a longer text is cut at its end, which is marked."""
    line = _json(role, text)
    if len(line.encode()) <= MAX_MESSAGE_BYTES:
        return line
    low, high = 0, len(text)
    while low < high:  # the longest beginning whose escaped form fits
        middle = (low + high + 1) // 2
        if len(_json(role, text[:middle] + " […]").encode()) <= MAX_MESSAGE_BYTES:
            low = middle
        else:
            high = middle - 1
    return _json(role, text[:low] + " […]")


def _json(role: str, text: str) -> str:
    return json.dumps({"role": role, "content": text}, ensure_ascii=False).replace("@", "\\u0040")


def after_interruption(message: str) -> str:
    """The message, with a note that an earlier run for it was killed."""
    return f"{_INTERRUPTED}\n\n{message}"


def with_context(message: str, context: str | None) -> str:
    """The message after what was replied to, quoted or forwarded with it."""
    return f"{context}\n\n{message}" if context else message
