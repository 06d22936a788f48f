"""Turns and deliveries brought through their lives with the ledger's own functions.

Owns short words for what workers, senders and persons do; does not own what is asserted.
"""

from __future__ import annotations

import itertools

from push.ledger import arrivals, outbox, retries, turns
from push.ledger.database import Database
from push.model.values import Accepted, Inbound, Outbound, Part, Plan, Rendered, Turn, Usage

PLAN = Plan("claude", "s1", is_new=True, epoch=0, work_dir="/assistant", instructions_sha256="ab")
_events = itertools.count(1)


def message(user: str = "ann", text: str = "hello", kind: str = "message") -> Inbound:
    """A message that no ledger has seen."""
    return Inbound("local", f"local:{user}", user, f"e{next(_events)}", user, text, 1_000, kind)


def rendered(*parts: str) -> Rendered:
    """A reply in plain text."""
    return Rendered(tuple(Part(text) for text in parts))


def accept(db: Database, inbound: Inbound | None = None) -> Turn:
    """A queued turn."""
    outcome = arrivals.accept(db, inbound or message())
    assert isinstance(outcome, Accepted)
    return now(db, outcome.turn_id)


def now(db: Database, turn_id: int) -> Turn:
    """A turn as it is now."""
    turn = turns.get(db, turn_id)
    assert turn is not None
    return turn


def state_of(db: Database, table: str, row_id: int) -> str:
    """The state of a row now."""
    row = db.one(f"SELECT state FROM {table} WHERE id = ?", (row_id,))
    assert row is not None
    return str(row[0])


def start(db: Database, turn: Turn, plan: Plan = PLAN) -> Turn:
    """Its run has begun."""
    turns.start(db, turn, plan)
    return now(db, turn.id)


def answer(db: Database, turn: Turn, *parts: str, session_id: str | None = None) -> Outbound:
    """A running turn is answered; its reply is pending."""
    reply = turns.Reply(rendered(*(parts or ("hi",))), Usage(10, 20, 0.01), session_id)
    turns.answer(db, turn, reply, "worker")
    return reply_to(db, turn.id)


def answered(db: Database, user: str = "ann", *parts: str) -> Outbound:
    """A whole turn, up to its pending reply."""
    return answer(db, start(db, accept(db, message(user))), *parts)


def fail(db: Database, turn: Turn, code: str = "agent_error") -> Outbound:
    """The turn ends with an honest reply."""
    turns.fail(db, turn, turns.Reply(rendered("sorry")), "worker", turns.Failure(code, "exit code 1"))
    return reply_to(db, turn.id)


def reply_to(db: Database, turn_id: int) -> Outbound:
    """The delivery that a turn caused."""
    row = db.one("SELECT id FROM outbound WHERE turn_id = ?", (turn_id,))
    assert row is not None
    return outbox.get(db, int(row[0]))


def sending(db: Database, row: Outbound) -> Outbound:
    """An attempt has begun."""
    assert outbox.claim(db, row) is None
    return outbox.get(db, row.id)


def deliver(db: Database, row: Outbound) -> None:
    """All its parts are taken."""
    row = sending(db, row)
    for part in row.parts:
        if not part.delivered:
            outbox.part_delivered(db, row, part.seq, f"r{row.id}.{part.seq}")


def rich(db: Database) -> None:
    """One of everything, with several conversations side by side. Two turns are left open, one of them running."""
    deliver(db, answered(db, "ann", "one", "two", "three"))
    command = accept(db, message("ann", "/new", "command"))
    turns.answer_command(db, command, rendered("A new session begins."))
    deliver(db, reply_to(db, command.id))
    _postponed_and_interrupted(db)
    _given_up(db)
    _troubled_deliveries(db)
    later = start(db, accept(db, message("fay")))
    turns.delay(db, later, "in_use", 60)
    start(db, accept(db, message("gus")))
    accept(db, message("gus"))


def _postponed_and_interrupted(db: Database) -> None:
    turn = accept(db, message("bob"))
    turns.postpone(db, turn, "disk_full", 30)
    assert turns.now_due(db, turn.id)
    turns.start_again(db, start(db, turn), PLAN)  # the session was missing
    turns.interrupt(db, now(db, turn.id), "recovery", "s7")
    turn = start(db, now(db, turn.id))
    turns.delay(db, turn, "in_use", 1)
    turns.resume_waiting(db, now(db, turn.id), "worker")
    deliver(db, answer(db, start(db, now(db, turn.id)), session_id="s8"))


def _given_up(db: Database) -> None:
    fail(db, start(db, accept(db, message("cyd"))))
    dismissed = accept(db, message("cyd"))
    fail(db, dismissed, "configuration")
    assert retries.dismiss_turn(db, dismissed.id) is retries.Done.DONE
    turns.cancel(db, accept(db, message("cyd")), "operator")
    turns.cancel(db, start(db, accept(db, message("cyd"))), "worker")


def _troubled_deliveries(db: Database) -> None:
    again = answered(db, "dan")
    outbox.not_sent(db, sending(db, again), "offline", 5)
    deliver(db, outbox.get(db, again.id))
    lost = answered(db, "dan")
    outbox.unknown(db, sending(db, lost), 0, "sender_died", "recovery")
    deliver(db, outbox.get(db, lost.id))
    refused = answered(db, "eve", "one", "two")
    outbox.part_delivered(db, sending(db, refused), 0, "r")
    outbox.end(db, outbox.get(db, refused.id), "failed", "blocked")
    assert retries.send_again(db, refused.id) is retries.Done.DONE
    outbox.end(db, sending(db, outbox.get(db, refused.id)), "failed", "blocked")
    for wish in (retries.send_again, retries.drop_delivery):
        unknown = answered(db, "eve")
        outbox.hold(db, sending(db, unknown), "timeout", "sender")
        assert wish(db, unknown.id) is retries.Done.DONE
    assert retries.drop_delivery(db, answered(db, "eve").id) is retries.Done.DONE
    outbox.hold(db, sending(db, answered(db, "eve")), "timeout", "sender")
    sending(db, answered(db, "eve"))
