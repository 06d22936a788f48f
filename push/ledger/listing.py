"""What the command line shows of the ledger: turns, conversations, deliveries.

Owns reads that change nothing and stay cheap beside a long history; does not own how they are printed. Instants are
milliseconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from push.ledger import arrivals
from push.ledger.database import Database, Row
from push.ledger.schema import TURN_OPEN
from push.model.machines import TURN

_LINE = "t.id, c.key, t.state, t.queued_at, t.started_at, t.finished_at, t.agent, t.session_id"
_FROM = "FROM turn t JOIN conversation c ON c.id = t.conversation_id"
#: Left alone, SQLite walks all turns backwards to save itself the sorting of the open ones.
_FROM_OPEN = "FROM turn t INDEXED BY turn_open JOIN conversation c ON c.id = t.conversation_id"
_OF_TURN = (
    *("channel", "sender", "kind", "text", "attempt", "interruptions", "delays", "not_before", "reason", "detail"),
    *("received_at", "work_dir", "rehydrated", "input_tokens", "output_tokens", "cost_usd"),
    *("lane", "ahead", "context", "merged_into", "erased_at"),
)
_OF_DELIVERY = (
    *("id", "turn_id", "channel", "target", "state", "attempt", "repeat", "not_before", "reason"),
    *("created_at", "finished_at", "delays", "urgent", "notice", "dismissed_at", "erased_at"),
)
_FLAGS = ("repeat", "urgent", "ahead")


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn in a list."""

    id: int
    conversation: str
    state: str
    queued_at: int
    started_at: int | None
    finished_at: int | None
    agent: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """One transition of a row. `source` is None for its birth."""

    at: int
    source: str | None
    target: str
    actor: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a reply, and the channel's receipt for it. `repeats` counts sends whose outcome nobody knows.

    `text` is None where it was erased.
    """

    seq: int
    text: str | None
    receipt: str | None
    delivered_at: int | None
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A reply or a notice on its way out, with everything that is known of it.

    `delays` counts tries that were proven not to have been sent; `notice` is what a delivery without a turn is about.
    """

    id: int
    turn_id: int | None
    conversation: str
    channel: str
    target: str
    state: str
    attempt: int
    repeat: bool
    not_before: int | None
    reason: str | None
    created_at: int
    finished_at: int | None
    delays: int
    urgent: bool
    notice: str | None
    dismissed_at: int | None
    erased_at: int | None
    parts: tuple[Part, ...]
    history: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A message that is the rest of another turn's text, which the channel had split."""

    turn: int
    text: str | None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn with everything that is known of it.

    `earlier` holds the texts that its message had before it was edited, as (replaced at, text), oldest first.
    """

    line: TurnLine
    channel: str
    sender: str
    kind: str
    text: str | None
    attempt: int
    interruptions: int
    delays: int
    not_before: int | None
    reason: str | None
    detail: str | None
    received_at: int
    work_dir: str | None
    rehydrated: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    lane: str
    ahead: bool
    context: str | None
    merged_into: int | None
    erased_at: int | None
    pieces: tuple[Piece, ...]
    earlier: tuple[tuple[int, str | None], ...]
    reply: DeliveryRecord | None
    history: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """A conversation in a list; `last_at` is when its newest message came in.

    `agent` and `model` are what a person chose for it in the chat; None: as the settings say. `paused_at` is since when
    nothing is begun in it.
    """

    conversation: str
    channel: str
    created_at: int
    last_turn: int | None
    last_at: int | None
    open: int
    agent: str | None = None
    model: str | None = None
    paused_at: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `state` is its turn's, or, for what the assistant said, its delivery's."""

    turn: int
    role: str
    state: str
    at: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which turns a list shows: of one conversation, in one state (of the machine's, or `open`), older than an id."""

    conversation: str | None = None
    state: str | None = None
    before: int | None = None
    limit: int = 50


def turns(db: Database, wanted: Selection) -> list[TurnLine]:
    """The turns that are wanted, newest first."""
    where, parameters = ["1"], list[object]()
    if wanted.state is not None:
        where.append(_in_state(wanted.state))
    if wanted.conversation is not None:
        where.append("t.conversation_id = (SELECT id FROM conversation WHERE key = ?)")
        parameters.append(wanted.conversation)
    if wanted.before is not None:
        where.append("t.id < ?")
        parameters.append(wanted.before)
    source = _FROM_OPEN if wanted.state == "open" or wanted.state in TURN.open else _FROM
    sql = f"SELECT {_LINE} {source} WHERE {' AND '.join(where)} ORDER BY t.id DESC LIMIT ?"
    return [TurnLine(*row) for row in db.rows(sql, (*parameters, wanted.limit))]


def _in_state(state: str) -> str:
    """A literal predicate, which a partial index can serve. Raises ValueError for what is no state."""
    if state == "open":
        return f"t.state IN {TURN_OPEN}"
    if state not in TURN.states:
        raise ValueError(f"not a state: {state}")
    return f"t.state IN {TURN_OPEN} AND t.state = '{state}'" if state in TURN.open else f"t.state = '{state}'"


def turn_record(db: Database, turn_id: int) -> TurnRecord | None:
    """All about one turn, its texts included."""
    with db.snapshot():
        row = db.one(f"SELECT {_LINE}, {_columns('t', _OF_TURN)} {_FROM} WHERE t.id = ?", (turn_id,))
        if row is None:
            return None
        reply = db.one("SELECT id FROM outbound WHERE turn_id = ?", (turn_id,))
        delivery = _delivery(db, int(reply[0])) if reply else None
        history = _history(db, "turn", turn_id)
        pieces = db.rows("SELECT id, text FROM turn WHERE merged_into = ? ORDER BY id", (turn_id,))
        earlier = arrivals.revisions(db, turn_id)
    return TurnRecord(
        line=TurnLine(*row[:8]),
        pieces=tuple(Piece(*piece) for piece in pieces),
        earlier=tuple(earlier),
        reply=delivery,
        history=history,
        **_known(_OF_TURN, row[8:]),
    )


def delivery_record(db: Database, delivery_id: int) -> DeliveryRecord | None:
    """All about one delivery, its text included."""
    with db.snapshot():
        return _delivery(db, delivery_id)


def _delivery(db: Database, delivery_id: int) -> DeliveryRecord | None:
    row = db.one(
        f"SELECT c.key, {_columns('o', _OF_DELIVERY)} FROM outbound o JOIN conversation c ON c.id = o.conversation_id "
        "WHERE o.id = ?",
        (delivery_id,),
    )
    if row is None:
        return None
    parts = db.rows(
        "SELECT seq, nullif(text, ''), receipt, delivered_at, repeats FROM part WHERE outbound_id = ? ORDER BY seq",
        (delivery_id,),
    )
    return DeliveryRecord(
        conversation=row[0],
        parts=tuple(Part(*part) for part in parts),
        history=_history(db, "outbound", delivery_id),
        **_known(_OF_DELIVERY, row[1:]),
    )


def _known(names: tuple[str, ...], values: Row) -> dict[str, Any]:
    """The columns by their names, flags as such."""
    return {name: bool(value) if name in _FLAGS else value for name, value in zip(names, values, strict=True)}


def _columns(table: str, names: tuple[str, ...]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


def _history(db: Database, machine: str, row_id: int) -> tuple[Change, ...]:
    sql = "SELECT at, source, target, actor, reason FROM transition WHERE machine = ? AND row_id = ? ORDER BY id"
    return tuple(Change(*row) for row in db.rows(sql, (machine, row_id)))


def conversations(db: Database, limit: int) -> list[ConversationLine]:
    """Conversations, the one that spoke last first."""
    rows = db.rows(
        "SELECT c.key, c.channel, c.created_at, l.id, t.queued_at, "
        f"(SELECT count(*) FROM turn o WHERE o.conversation_id = c.id AND o.state IN {TURN_OPEN}), "
        "c.agent, c.model, c.paused_at "
        "FROM (SELECT c.id AS conversation_id, (SELECT max(t.id) FROM turn t WHERE t.conversation_id = c.id) AS id "
        "FROM conversation c ORDER BY 2 DESC LIMIT ?) l "
        "JOIN conversation c ON c.id = l.conversation_id LEFT JOIN turn t ON t.id = l.id ORDER BY l.id DESC",
        (limit,),
    )
    return [ConversationLine(*row) for row in rows]


def conversation(db: Database, key: str) -> ConversationLine | None:
    """One conversation by its key."""
    row = db.one(
        "SELECT c.key, c.channel, c.created_at, t.id, t.queued_at, "
        f"(SELECT count(*) FROM turn o WHERE o.conversation_id = c.id AND o.state IN {TURN_OPEN}), "
        "c.agent, c.model, c.paused_at "
        "FROM conversation c LEFT JOIN turn t ON t.id = "
        "(SELECT max(n.id) FROM turn n WHERE n.conversation_id = c.id) WHERE c.key = ?",
        (key,),
    )
    return ConversationLine(*row) if row else None


def messages(db: Database, key: str, limit: int) -> list[Message]:
    """The newest turns of a conversation, at most `limit`, with what was answered; oldest first."""
    rows = db.rows(
        "SELECT t.id, t.state, t.queued_at, t.text, o.state, o.created_at, nullif((SELECT group_concat(p.text, '') "
        "FROM (SELECT text FROM part WHERE outbound_id = o.id ORDER BY seq) p), '') "
        "FROM turn t LEFT JOIN outbound o ON o.turn_id = t.id "
        "WHERE t.conversation_id = (SELECT id FROM conversation WHERE key = ?) ORDER BY t.id DESC LIMIT ?",
        (key, limit),
    )
    found = list[Message]()
    for turn, state, at, text, delivery, answered_at, reply in reversed(rows):
        found.append(Message(turn, "user", state, at, text))
        if delivery is not None:
            found.append(Message(turn, "assistant", delivery, answered_at, reply))
    return found
