"""Turns: accepted messages and how far each got. Does not own the order of steps (`push.tasks.turns`)."""

from __future__ import annotations

from dataclasses import dataclass

from push import clock
from push.ledger import outbox
from push.ledger.database import Database, Row
from push.ledger.moves import born, move
from push.ledger.schema import TURN_OPEN
from push.model.machines import TURN, Actor
from push.model.values import Accepted, Duplicate, Inbound, Plan, Turn, Usage
from push.seams import seam

_COLUMNS = (
    "t.id, t.conversation_id, c.key, t.channel, t.target, t.sender, t.kind, t.text, t.state, t.attempt, "
    "t.interruptions, t.delays, t.not_before, t.received_at, t.agent, t.session_id, t.is_new, t.epoch, t.work_dir, "
    "t.instructions_sha256, t.rehydrated"
)
_FIELDS = tuple(field for field in Turn.__slots__ if field != "plan")
_FROM = "FROM turn t JOIN conversation c ON c.id = t.conversation_id"
_HEAD = f"SELECT {_COLUMNS} {_FROM} WHERE t.conversation_id = ? AND t.state IN {TURN_OPEN} ORDER BY t.id LIMIT 1"
_HEADS = (
    "SELECT h.conversation_id, t.not_before FROM "
    f"(SELECT conversation_id, min(id) AS id FROM turn WHERE state IN {TURN_OPEN} GROUP BY conversation_id) h "
    "JOIN turn t ON t.id = h.id"
)
_INSERT = (
    "INSERT INTO turn (conversation_id, channel, event_id, sender, target, kind, text, state, received_at, queued_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?)"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What ends a turn: the parts of the reply in order, what the run cost, and the session it happened in.

    Some CLIs choose the session's id themselves, so that only their output tells it.
    """

    parts: tuple[str, ...]
    usage: Usage | None = None
    session_id: str | None = None


def accept(db: Database, message: Inbound) -> Accepted | Duplicate:
    """Commit one accepted message as a queued turn; the same channel event a second time changes nothing."""
    now = clock.now_ms()
    seam("intake.before_commit")
    with db.write():
        known = db.one(
            "SELECT id, conversation_id FROM turn WHERE channel = ? AND event_id = ?",
            (message.channel, message.event_id),
        )
        if known:
            return Duplicate(int(known[0]), int(known[1]))
        conversation = _conversation_id(db, message, now)
        turn_id = db.insert(
            _INSERT,
            (
                conversation,
                message.channel,
                message.event_id,
                message.sender,
                message.target,
                message.kind,
                message.text,
                message.received_ms,
                now,
            ),
        )
        born(db, TURN, turn_id, "queued", "channel")
    seam("intake.committed")
    return Accepted(turn_id, conversation)


def _conversation_id(db: Database, message: Inbound, now: int) -> int:
    row = db.one("SELECT id FROM conversation WHERE key = ?", (message.conversation,))
    if row:
        return int(row[0])
    return db.insert(
        "INSERT INTO conversation (key, channel, created_at) VALUES (?, ?, ?)",
        (message.conversation, message.channel, now),
    )


def head(db: Database, conversation_id: int) -> Turn | None:
    """The oldest open turn of a conversation: the only one that may be worked on."""
    row = db.one(_HEAD, (conversation_id,))
    return _turn(row) if row else None


def get(db: Database, turn_id: int) -> Turn | None:
    """One turn by its id."""
    row = db.one(f"SELECT {_COLUMNS} {_FROM} WHERE t.id = ?", (turn_id,))
    return _turn(row) if row else None


def open_conversations(db: Database) -> list[tuple[int, int | None]]:
    """Each conversation with open turns, and when its oldest one becomes due (None: at once)."""
    return [(int(row[0]), row[1]) for row in db.rows(_HEADS)]


def start(db: Database, turn: Turn, plan: Plan) -> None:
    """`queued -> running`: the run `t<id>-<attempt + 1>` may start from now on."""
    with db.write():
        edge = ("queued", "running", "worker")
        columns = {"started_at": clock.now_ms(), "attempt": turn.attempt + 1, "not_before": None, "reason": None}
        move(db, TURN, turn.id, edge, **columns, **_plan_columns(plan))
    seam("turn.running_committed")


def start_again(db: Database, turn: Turn, plan: Plan) -> None:
    """A running turn gets a fresh attempt, its earlier one having run nothing (missing session, never started)."""
    columns = {"attempt": turn.attempt + 1, "not_before": None, "reason": None, **_plan_columns(plan)}
    assignments = ", ".join(f"{name} = ?" for name in columns)
    sql = f"UPDATE turn SET {assignments} WHERE id = ? AND state = 'running'"
    with db.write():
        db.execute(sql, (*columns.values(), turn.id))
    seam("turn.running_committed")


def answer(db: Database, turn: Turn, reply: Reply, by: Actor) -> None:
    """End a turn with the agent's reply, which is committed with it."""
    _end(db, turn, reply, (turn.state, "answered", by), {"reason": None})


def answer_command(db: Database, turn: Turn, text: str) -> None:
    """`queued -> running -> answered` in one step: a command of the gateway needs no agent."""
    with db.write():
        move(db, TURN, turn.id, ("queued", "running", "worker"), started_at=clock.now_ms())
        move(db, TURN, turn.id, ("running", "answered", "worker"), finished_at=clock.now_ms(), not_before=None)
        outbox.enqueue(db, turn, (text,))
    seam("turn.command_committed")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn failed: a stable code, and detail (cut to 4 KiB) that stays in the ledger."""

    code: str
    detail: str = ""


def fail(db: Database, turn: Turn, reply: Reply, by: Actor, why: Failure) -> None:
    """End a turn with an honest reply."""
    columns: dict[str, object] = {"reason": why.code, "detail": why.detail[:4096] or None}
    _end(db, turn, reply, (turn.state, "failed", by), columns)


def _end(db: Database, turn: Turn, reply: Reply, edge: tuple[str, str, Actor], columns: dict[str, object]) -> None:
    columns |= _usage_columns(db, turn, reply.usage)
    if reply.session_id is not None:
        columns["session_id"] = reply.session_id
    seam("turn.before_answer_commit")
    with db.write():
        move(db, TURN, turn.id, edge, finished_at=clock.now_ms(), not_before=None, **columns)
        outbox.enqueue(db, turn, reply.parts)
    seam("turn.answer_committed")


def cancel(db: Database, turn: Turn, by: Actor) -> None:
    """End a turn without a reply: whoever asked for it has been told."""
    with db.write():
        move(db, TURN, turn.id, (turn.state, "cancelled", by), finished_at=clock.now_ms(), not_before=None)
    seam("turn.cancelled_committed")


def interrupt(db: Database, turn: Turn, by: Actor, session_id: str | None = None) -> None:
    """`running -> interrupted -> queued`: its run was killed; it is resumed, once, in `session_id`, and told so."""
    columns: dict[str, object] = {"interruptions": turn.interruptions + 1, "reason": "interrupted"}
    if session_id is not None:
        columns["session_id"] = session_id
    with db.write():
        move(db, TURN, turn.id, ("running", "interrupted", by), **columns)
        move(db, TURN, turn.id, ("interrupted", "queued", by), not_before=None)
    seam("turn.interrupted_committed")


def delay(db: Database, turn: Turn, reason: str, seconds: float) -> None:
    """`running -> waiting -> queued`: the agent ran nothing and asked to be tried again after `seconds`."""
    with db.write():
        edge = ("running", "waiting", "worker")
        move(db, TURN, turn.id, edge, reason=reason, not_before=_after(seconds), delays=turn.delays + 1)
    seam("turn.delayed_committed")


def resume_waiting(db: Database, turn: Turn, by: Actor) -> None:
    """`waiting -> queued`: its time has come."""
    with db.write():
        move(db, TURN, turn.id, ("waiting", "queued", by), not_before=None)
    seam("turn.resumed_committed")


def postpone(db: Database, turn: Turn, reason: str, seconds: float) -> None:
    """Leave a turn where it is and look again after `seconds`: something of ours is broken (disk, state.json)."""
    with db.write():
        db.execute(
            f"UPDATE turn SET not_before = ?, reason = ? WHERE id = ? AND state IN {TURN_OPEN}",
            (_after(seconds), reason, turn.id),
        )
    seam("turn.postponed_committed")


def now_due(db: Database, turn_id: int) -> bool:
    """Forget a postponement; returns whether there was an open turn of that id."""
    with db.write():
        sql = f"UPDATE turn SET not_before = NULL WHERE id = ? AND state IN {TURN_OPEN}"
        return db.execute(sql, (turn_id,)) == 1


def recent_messages(db: Database, turn: Turn, limit: int) -> list[tuple[str, str]]:
    """Up to `limit` (role, text) of the conversation before `turn`, oldest first.

    Of the replies only delivered ones, and only the agent's own: our sentence about a failure is not its word.
    """
    rows = db.rows(
        "SELECT t.id, t.text, (SELECT group_concat(text, '') FROM (SELECT p.text FROM outbound o "
        "JOIN part p ON p.outbound_id = o.id WHERE o.turn_id = t.id AND o.state = 'delivered' "
        "AND t.state = 'answered' ORDER BY p.seq)) FROM turn t "
        "WHERE t.conversation_id = ? AND t.id < ? AND t.kind = 'message' ORDER BY t.id DESC LIMIT ?",
        (turn.conversation_id, turn.id, limit),
    )
    messages: list[tuple[str, str]] = []
    for _, question, reply in rows:  # newest first
        if reply is not None:
            messages.append(("assistant", reply))
        if question is not None:
            messages.append(("user", question))
    return messages[:limit][::-1]


def _plan_columns(plan: Plan) -> dict[str, object]:
    return {
        "agent": plan.agent,
        "session_id": plan.session_id,
        "is_new": int(plan.is_new),
        "epoch": plan.epoch,
        "work_dir": plan.work_dir,
        "instructions_sha256": plan.instructions_sha256,
        "rehydrated": plan.rehydrated,
    }


def _usage_columns(db: Database, turn: Turn, usage: Usage | None) -> dict[str, object]:
    """What this run cost, and the session's totals where the CLI counts them: a run is the difference of two totals."""
    if usage is None or turn.plan is None:
        return {}
    columns: dict[str, object] = {}
    before = _totals_before(db, turn) if usage.cumulative else {}
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        value = getattr(usage, name)
        if value is None:
            continue
        if name in usage.cumulative:
            columns[f"total_{name}"] = value
            value = max(value - (before.get(name) or 0), 0)
        columns[name] = value
    return columns


def _totals_before(db: Database, turn: Turn) -> dict[str, float | None]:
    if turn.plan is None or turn.plan.is_new:
        return {}
    row = db.one(
        "SELECT total_input_tokens, total_output_tokens, total_cost_usd FROM turn WHERE conversation_id = ? AND id < ? "
        "AND session_id = ? AND coalesce(total_input_tokens, total_output_tokens, total_cost_usd) IS NOT NULL "
        "ORDER BY id DESC LIMIT 1",
        (turn.conversation_id, turn.id, turn.plan.session_id),
    )
    return dict(zip(("input_tokens", "output_tokens", "cost_usd"), row, strict=True)) if row else {}


def _after(seconds: float) -> int:
    return clock.now_ms() + int(seconds * 1000)


def _turn(row: Row) -> Turn:
    agent, session_id, is_new, epoch, work_dir, digest, rehydrated = row[14:]
    plan = None
    if agent is not None:
        plan = Plan(agent, session_id, bool(is_new), epoch, work_dir, digest, rehydrated)
    return Turn(**dict(zip(_FIELDS, row[:14], strict=True)), plan=plan)
