"""Intake: an accepted message becomes a committed turn. Does not own who is let through (the channel does)."""

from __future__ import annotations

from dataclasses import replace

from push.audit import Audit
from push.errors import UsageError
from push.gateway import commands
from push.ledger import arrivals
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.model.values import Accepted, Duplicate, Inbound, Merged

#: Bytes of UTF-8 in one message. Agents have lower limits of their own and say so.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024


def accept(
    db: Database, audit: Audit, message: Inbound, reading: Reading | None = None
) -> Accepted | Duplicate | Merged:
    """Commit `message`, together with how far its channel was read.

    Raises UsageError for one that is longer than any agent takes; nothing is stored then. Lone surrogates, which no
    encoding has, become U+FFFD; everything else is kept as it came.
    """
    message = classify(replace(message, text=encodable(message.text)))
    outcome = arrivals.accept(db, message, reading)
    is_held = isinstance(outcome, Accepted) and outcome.held
    audit.record(
        "message_held" if is_held else f"message_{type(outcome).__name__.lower()}",
        turn=outcome.turn_id,
        channel=message.channel,
        thread=message.conversation,
        message=message.text,
        kind=message.kind,
    )
    return outcome


def classify(message: Inbound) -> Inbound:
    """The message with its kind and lane. Raises UsageError for one that is too long."""
    size = len(message.text.encode())
    if size > MAX_MESSAGE_BYTES:
        raise UsageError(
            f"the message has {size:,} bytes; the limit is {MAX_MESSAGE_BYTES:,}",
            why="no agent takes a prompt of that length; it can read a file in the assistant's folder",
            hint="push chat 'Read the file message.txt in your folder.'",
            code="message_too_long",
        )
    command = commands.recognise(message.text) if message.own_words else None
    if command is None:
        return message
    if command.name == "now" and command.argument:
        return replace(message, text=command.argument, ahead=True, joins=False)
    return replace(message, kind="command", lane=command.lane, hold_ms=0, joins=False)


def encodable(text: str) -> str:
    """The text with lone surrogates replaced."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
