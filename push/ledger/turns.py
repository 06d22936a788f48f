"""Turns: accepted messages and how far each got. Does not own the order of steps (`push.tasks.turns`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from push import clock
from push.ledger import arrivals, conversations, outbox
from push.ledger.database import Database, Row
from push.ledger.moves import StaleRow, move
from push.ledger.schema import TURN_OPEN
from push.model.machines import TURN, Actor
from push.model.values import Plan, Rendered, Turn, Usage
from push.seams import seam

_MEANWHILE = "that happened while its run was prepared"

_COLUMNS = (
    "t.id, t.conversation_id, c.key, t.channel, t.target, t.sender, t.kind, coalesce(t.text, ''), t.state, t.attempt, "
    "t.interruptions, t.delays, t.not_before, t.received_at, t.lane, t.ahead, t.context, "
    "t.agent, t.session_id, t.is_new, t.epoch, t.work_dir, "
    "t.instructions_sha256, t.rehydrated"
)
_FIELDS = tuple(field for field in Turn.__slots__ if field != "plan")
_FROM = "FROM turn t JOIN conversation c ON c.id = t.conversation_id"
#: What has begun goes on; then what a person wanted at once (`/now`); then in order.
_ORDER = "(t.state = 'queued' AND t.attempt = 0), t.ahead DESC, t.id"
#: In a paused conversation what runs goes on, and nothing else begins.
_GOES_ON = f"(t.state = 'running' OR t.conversation_id NOT IN {conversations.PAUSED})"
_HEAD = (
    f"SELECT {_COLUMNS} {_FROM} WHERE t.conversation_id = ? AND t.state IN {TURN_OPEN} AND t.lane = 'turns' "
    f"AND t.held_at IS NULL AND {_GOES_ON} ORDER BY {_ORDER} LIMIT 1"
)
_HEADS = (
    "SELECT conversation_id, not_before FROM (SELECT t.conversation_id, t.not_before, "
    f"row_number() OVER (PARTITION BY t.conversation_id ORDER BY {_ORDER}) AS place "
    f"FROM turn t INDEXED BY turn_open WHERE t.state IN {TURN_OPEN} AND t.lane = 'turns' AND t.held_at IS NULL "
    f"AND {_GOES_ON}) WHERE place = 1"
)
_CONTROL = (
    f"SELECT {_COLUMNS} FROM turn t INDEXED BY turn_control JOIN conversation c ON c.id = t.conversation_id "
    f"WHERE t.lane = 'control' AND t.state IN {TURN_OPEN} AND t.held_at IS NULL AND t.conversation_id = ? "
    "ORDER BY t.id LIMIT 1"
)
_IMPATIENT = (
    f"SELECT DISTINCT conversation_id FROM turn INDEXED BY turn_open WHERE state IN {TURN_OPEN} AND ahead = 1 "
    f"AND state = 'queued' AND held_at IS NULL AND conversation_id NOT IN {conversations.PAUSED}"
)
_HISTORY = (
    "SELECT t.id, t.text, (SELECT coalesce(o.source, nullif((SELECT group_concat(text, '') FROM "
    "(SELECT p.text FROM part p WHERE p.outbound_id = o.id ORDER BY p.seq)), '')) FROM outbound o "
    "WHERE o.turn_id = t.id AND o.state = 'delivered' AND t.state = 'answered') FROM turn t "
    "WHERE t.conversation_id = ? AND t.id < ? AND t.kind = 'message' "
    f"AND coalesce((SELECT l.state FROM turn l WHERE l.id = t.merged_into), t.state) NOT IN {TURN_OPEN} "
    "ORDER BY t.id DESC LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What ends a turn: the reply as its channel shows it, what the run cost, and the session it happened in.

    Some CLIs choose the session's id themselves, so that only their output tells it.
    """

    text: Rendered
    usage: Usage | None = None
    session_id: str | None = None


def head(db: Database, conversation_id: int) -> Turn | None:
    """The oldest open turn of a conversation: the only one that may be worked on. None where it is paused."""
    row = db.one(_HEAD, (conversation_id,))
    return _turn(row) if row else None


def control_head(db: Database, conversation_id: int) -> Turn | None:
    """The oldest open command of a conversation that is handled at once, beside what waits."""
    row = db.one(_CONTROL, (conversation_id,))
    return _turn(row) if row else None


def open_controls(db: Database) -> list[int]:
    """Conversations with work for the control lane: open commands, and messages that want the running one stopped."""
    sql = (
        f"SELECT DISTINCT conversation_id FROM turn WHERE lane = 'control' AND state IN {TURN_OPEN} AND held_at IS NULL"
    )
    return sorted({int(row[0]) for row in (*db.rows(sql), *db.rows(_IMPATIENT))})


def whole_text(db: Database, turn: Turn) -> str:
    """The message, with the pieces that joined it; "" where its text was erased."""
    pieces = db.rows("SELECT coalesce(text, '') FROM turn WHERE merged_into = ? ORDER BY id", (turn.id,))
    return arrivals.joined([turn.text, *(str(text) for (text,) in pieces)])


def last_message(db: Database, turn: Turn) -> Turn | None:
    """The newest message before `turn` in its conversation: what `/retry` runs again."""
    row = db.one(
        f"SELECT {_COLUMNS} {_FROM} WHERE t.conversation_id = ? AND t.id < ? AND t.kind = 'message' "
        "AND t.merged_into IS NULL ORDER BY t.id DESC LIMIT 1",
        (turn.conversation_id, turn.id),
    )
    return _turn(row) if row else None


def become_message(db: Database, turn: Turn, text: str, context: str | None) -> None:
    """A queued command turns into the message that it stands for (`/retry`)."""
    with db.write():
        sql = "UPDATE turn SET kind = 'message', text = ?, context = ? WHERE id = ? AND state = 'queued'"
        db.execute(sql, (text, context, turn.id))


def acknowledge(db: Database, turn_ids: Sequence[int]) -> None:
    """The person was told that these wait; never again."""
    now = clock.now_ms()
    with db.write():
        for turn_id in turn_ids:
            db.execute("UPDATE turn SET acknowledged_at = ? WHERE id = ?", (now, turn_id))


def get(db: Database, turn_id: int) -> Turn | None:
    """One turn by its id."""
    row = db.one(f"SELECT {_COLUMNS} {_FROM} WHERE t.id = ?", (turn_id,))
    return _turn(row) if row else None


def open_conversations(db: Database) -> list[tuple[int, int | None]]:
    """Each conversation that is to be worked on, and when its oldest open turn becomes due (None: at once)."""
    return [(int(row[0]), row[1]) for row in db.rows(_HEADS)]


def start(db: Database, turn: Turn, plan: Plan, text: str | None = None) -> None:
    """`queued -> running`: the run `t<id>-<attempt + 1>` may start from now on.

    Raises StaleRow where the conversation was paused, or the whole message is no longer `text`: it was edited, or
    another piece joined it, after the run's prompt was made.
    """
    with db.write():
        if conversations.is_paused(db, turn.conversation_id):
            raise StaleRow(
                f"the conversation of turn {turn.id} is paused", why=_MEANWHILE, hint="push conversations list"
            )
        now = get(db, turn.id)
        if text is not None and now is not None and whole_text(db, now) != text:
            raise StaleRow(f"turn {turn.id} says something else by now", why=_MEANWHILE, hint="push status")
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


def answer_command(db: Database, turn: Turn, text: Rendered) -> None:
    """`queued -> running -> answered` in one step: a command of the gateway needs no agent."""
    with db.write():
        move(db, TURN, turn.id, ("queued", "running", "worker"), started_at=clock.now_ms())
        move(db, TURN, turn.id, ("running", "answered", "worker"), finished_at=clock.now_ms(), not_before=None)
        outbox.enqueue(db, turn, text)
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
        outbox.enqueue(db, turn, reply.text)
    seam("turn.answer_committed")


def cancel(db: Database, turn: Turn, by: Actor) -> None:
    """End a turn without a reply: whoever asked for it has been told."""
    with db.write():
        ended = {"finished_at": clock.now_ms(), "not_before": None, "held_at": None}
        move(db, TURN, turn.id, (turn.state, "cancelled", by), **ended)
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
    """Up to `limit` (role, text) of the conversation before `turn`, oldest first; what still waits is not told yet.

    What was erased is not among them.
    Of the replies only delivered ones, and only the agent's own: our sentence about a failure is not its word.
    """
    rows = db.rows(_HISTORY, (turn.conversation_id, turn.id, limit))
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
    lane, ahead, context, agent, session_id, is_new, epoch, work_dir, digest, rehydrated = row[14:]
    plan = None
    if agent is not None:
        plan = Plan(agent, session_id, bool(is_new), epoch, work_dir, digest, rehydrated)
    fields = (*row[:14], lane, bool(ahead), context)
    return Turn(**dict(zip(_FIELDS, fields, strict=True)), plan=plan)
