"""What a network channel brings into a ledger: pieces, edits, commands that overtake, notices, progress, pauses.

Owns short words for one chat of Telegram; does not own what is asserted.
"""

from __future__ import annotations

import itertools
from typing import Any

from push import clock
from push.ledger import arrivals, outbox, pace, progress, turns
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.model.values import Inbound, Outbound, Pace, Part, Turn
from tests.ledger import lives

OWNER = "8012345678"  # the bot
FULL = "x" * 4096
_updates = itertools.count(1001)


def message(text: str = "hello", chat: str = "5", **more: Any) -> Inbound:
    """A private message that no ledger has seen."""
    number = next(_updates)
    known = {"message_ref": f"{chat}/{number}", "kind": "message"} | more
    return Inbound("telegram", f"telegram:dm:{chat}", chat, f"{OWNER}:{number}", chat, text, clock.now_ms(), **known)


def reading(position: int) -> Reading:
    """How far the bot was read."""
    return Reading("telegram", OWNER, position)


def command(db: Database, text: str = "/status", chat: str = "5") -> Turn:
    """A command of the control lane, answered; its answer is pending, and overtakes."""
    turn = lives.accept(db, message(text, chat, kind="command", lane="control"))
    turns.answer_command(db, turn, lives.rendered("all is well"))
    return turn


def rich(db: Database, chat: str = "5") -> None:
    """One of everything, ended but for one message that runs (with its progress message) and one that waits."""
    lead = lives.accept(db, message(FULL, chat, joins=True, hold_ms=0, context="> quoted"))
    assert arrivals.accept(db, message("the rest", chat, joins=True), reading(7)).turn_id == lead.id
    edited = message("wrong", chat)
    late = lives.accept(db, edited)
    assert arrivals.edit(db, "telegram", (edited.message_ref or "", chat, "right"), reading(8)) == late.id
    arrivals.reject(db, reading(9), '{"update_id": 9}', "malformed")
    first = lives.start(db, lead)
    lives.deliver(db, lives.reply_to(db, command(db, chat=chat).id))
    ahead = lives.accept(db, message("at once", chat, ahead=True))
    turns.cancel(db, first, "worker")
    paced(db, lives.answer(db, lives.start(db, ahead), "one", "two"))
    refused = lives.answer(db, lives.start(db, lives.now(db, late.id)))
    outbox.try_again(db, lives.sending(db, refused), "slow down", 0)
    outbox.not_sent(db, lives.sending(db, outbox.get(db, refused.id)), "connection_refused", 0)
    lives.deliver(db, outbox.get(db, refused.id))
    notice = outbox.enqueue_notice(db, lead.conversation_id, chat, "deaf", (Part("a notice"),))
    lives.deliver(db, outbox.get(db, notice))
    running = lives.start(db, lives.accept(db, message(chat=chat)))
    progress.posted(db, running.id, ("telegram", chat), f"{chat}/77")
    lives.accept(db, message(chat=chat))
    pace.pause(db, "telegram", "6", 60, "too_many_requests")


def paced(db: Database, row: Outbound) -> None:
    """A delivery of two parts, the second of which has to wait for the chat's budget."""
    budget = (Pace(row.target, ((1, 60.0),)),)
    assert outbox.claim(db, row, budget) is None
    assert outbox.part_delivered(db, outbox.get(db, row.id), 0, f"{row.target}/1", budget) is not None
    lives.deliver(db, outbox.get(db, row.id))
