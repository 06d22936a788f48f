"""Intake: an accepted message becomes a committed turn. Does not own who is let through (the channel does)."""

from __future__ import annotations

from dataclasses import replace

from push.audit import Audit
from push.errors import UsageError
from push.gateway import commands
from push.ledger import turns
from push.ledger.database import Database
from push.model.values import Accepted, Duplicate, Inbound

#: Bytes of UTF-8 in one message. Agents have lower limits of their own and say so.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024


def accept(db: Database, audit: Audit, message: Inbound) -> Accepted | Duplicate:
    """Commit `message`. Raises UsageError for one that is longer than any agent takes; nothing is stored then.

    Lone surrogates, which no encoding has, become U+FFFD; everything else is kept as it came.
    """
    text = message.text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    size = len(text.encode())
    if size > MAX_MESSAGE_BYTES:
        raise UsageError(
            f"the message has {size:,} bytes; the limit is {MAX_MESSAGE_BYTES:,}",
            why="no agent takes a prompt of that length",
            hint="put the text into a file of the assistant's folder, and send its name",
            code="message_too_long",
        )
    kind = "command" if commands.recognise(text) else "message"
    outcome = turns.accept(db, replace(message, text=text, kind=kind))
    event = "message_accepted" if isinstance(outcome, Accepted) else "message_duplicate"
    audit.record(
        event, turn=outcome.turn_id, channel=message.channel, thread=message.conversation, message=text, kind=kind
    )
    return outcome
