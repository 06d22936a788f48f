"""The terminal as a channel. Owns its names and how an answer is shown; does not own the screen or the ledger.

A conversation is `local:<user>`. Each terminal has a token, which begins its event ids, so that an answer can be
printed where the question was asked.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from push import clock
from push.errors import UsageError
from push.model.values import Delivered, Inbound, NotSent, Part, SendOutcome

CHANNEL = "local"
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")


def conversation(user: str) -> str:
    """The conversation of a user. Raises UsageError for a name that is not a plain word."""
    if not _USER.fullmatch(user):
        raise UsageError(
            f"{user!r} cannot be a user's name here",
            why="it takes letters, digits and . _ @ + -, at most 64, the first a letter or digit",
            hint="push chat --user ann",
        )
    return f"{CHANNEL}:{user}"


def new_token() -> str:
    """A terminal's name, unique for ever."""
    return uuid.uuid4().hex[:12]


def desk(user: str) -> str:
    """What the wake-up sockets of a user's terminals are called: an answer wakes those of its user only."""
    return f"terminal.{hashlib.sha256(user.encode()).hexdigest()[:8]}"


def message(user: str, token: str, number: int, text: str) -> Inbound:
    """The `number`-th message typed into terminal `token`."""
    return Inbound(
        channel=CHANNEL,
        conversation=conversation(user),
        target=user,
        event_id=f"{token}:{number}",
        sender=user,
        text=text,
        received_ms=clock.now_ms(),
    )


def asked_at(event_id: str) -> str:
    """The token of the terminal in which a message was typed."""
    return event_id.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Screen:
    """Prints answers. `write` puts a text, after a note, on the terminal; it raises OSError where nobody reads."""

    token: str
    write: Callable[[str, str], None]

    def send(self, row_id: int, sequence: int, part: Part, note: str) -> SendOutcome:
        """Print one part. Whether a person saw it is not known; that the terminal took it is."""
        try:
            self.write(part.text, note)
        except OSError as exc:
            return NotSent(f"the terminal is gone ({exc.strerror})", 0.0)
        return Delivered(f"{self.token}:{row_id}.{sequence}")
