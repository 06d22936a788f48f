"""How rows of the ledger look: as JSON, and for a person.

Owns the field names of turns and deliveries under `--json` (docs/reference/output.md); does not own any option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from push import clock
from push.cli import output

if TYPE_CHECKING:
    from push.ledger.listing import Change, DeliveryRecord, TurnLine, TurnRecord
    from push.ledger.pace import Pause
    from push.ledger.retries import Rejected

#: Stands where a text was, that retention has erased.
ERASED = "(erased)"
_SIZES = ("bytes", "kB", "MB", "GB", "TB")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def span(seconds: float) -> str:
    """A length of time for a person, in one unit: `42 s`, `5 min`, `3 h`, `12 d`."""
    whole = max(int(seconds), 0)
    for size, unit in _UNITS:
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def size(count: int) -> str:
    """Bytes for a person: `812 bytes`, `12.4 MB`."""
    power = min((len(str(count)) - 1) // 3, len(_SIZES) - 1)
    return f"{count / 1000**power:.1f} {_SIZES[power]}" if power else f"{count} {_SIZES[0]}"


def rows(turns: int, deliveries: int) -> str:
    """How many there are, for a person: `1 turn, 3 deliveries`."""
    return f"{turns} turn{'' if turns == 1 else 's'}, {deliveries} deliver{'y' if deliveries == 1 else 'ies'}"


def ago(at: int | None, now: int) -> str | None:
    """How long ago an instant was; None stays None."""
    if at is None:
        return None
    return f"in {span((at - now) / 1000)}" if at > now else f"{span((now - at) / 1000)} ago"


def took(line: TurnLine) -> str | None:
    """How long a turn's last run took; None where it has not ended, or never ran."""
    if line.started_at is None or line.finished_at is None:
        return None
    return span((line.finished_at - line.started_at) / 1000)


def paused(pause: Pause, now: int) -> str:
    """A pause in a sentence: `telegram chat 5 is paused (too_many_requests), goes on in 28 s`."""
    place = f"{pause.channel} chat {pause.key}" if pause.key else f"{pause.channel}, all chats of it,"
    return f"{place} is paused ({pause.reason}), goes on {ago(pause.until, now)}"


def turn_line(line: TurnLine) -> dict[str, Any]:
    """A turn in a list."""
    return {
        "id": line.id,
        "conversation": line.conversation,
        "state": line.state,
        "queued_at": clock.iso(line.queued_at),
        "started_at": clock.iso(line.started_at),
        "finished_at": clock.iso(line.finished_at),
        "agent": line.agent,
        "session_id": line.session_id,
    }


def turn(record: TurnRecord) -> dict[str, Any]:
    """A turn with its texts."""
    return {
        **turn_line(record.line),
        "channel": record.channel,
        "sender": record.sender,
        "kind": record.kind,
        "received_at": clock.iso(record.received_at),
        "attempt": record.attempt,
        "interruptions": record.interruptions,
        "delays": record.delays,
        "next_attempt_at": clock.iso(record.not_before),
        "reason": record.reason,
        "detail": record.detail,
        "work_dir": record.work_dir,
        "rehydrated": record.rehydrated,
        "input_tokens": record.input_tokens,
        "output_tokens": record.output_tokens,
        "cost_usd": record.cost_usd,
        "lane": record.lane,
        "ahead": record.ahead,
        "merged_into": record.merged_into,
        "erased_at": clock.iso(record.erased_at),
        "context": record.context,
        "text": record.text,
        "pieces": [{"turn": piece.turn, "text": piece.text} for piece in record.pieces],
        "earlier": [{"replaced_at": clock.iso(at), "text": text} for at, text in record.earlier],
        "history": [_change(change) for change in record.history],
        "reply": delivery(record.reply) if record.reply else None,
    }


def delivery(record: DeliveryRecord) -> dict[str, Any]:
    """A delivery with its texts."""
    return {
        "id": record.id,
        "turn": record.turn_id,
        "conversation": record.conversation,
        "channel": record.channel,
        "target": record.target,
        "state": record.state,
        "attempt": record.attempt,
        "repeat": record.repeat,
        "delays": record.delays,
        "urgent": record.urgent,
        "notice": record.notice,
        "erased_at": clock.iso(record.erased_at),
        "dismissed_at": clock.iso(record.dismissed_at),
        "next_attempt_at": clock.iso(record.not_before),
        "reason": record.reason,
        "created_at": clock.iso(record.created_at),
        "finished_at": clock.iso(record.finished_at),
        "parts": [
            {
                "seq": part.seq,
                "receipt": part.receipt,
                "delivered_at": clock.iso(part.delivered_at),
                "repeats": part.repeats,
                "text": part.text,
            }
            for part in record.parts
        ],
        "history": [_change(change) for change in record.history],
    }


def rejected(record: Rejected) -> dict[str, Any]:
    """An update that could not be stored as a message, as it came."""
    return {
        "id": record.id,
        "channel": record.channel,
        "position": record.position,
        "reason": record.reason,
        "rejected_at": clock.iso(record.rejected_at),
        "dismissed_at": clock.iso(record.dismissed_at),
        "raw": record.raw or None,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "at": clock.iso(change.at),
        "source": change.source,
        "target": change.target,
        "actor": change.actor,
        "reason": change.reason,
    }


def show_turn(record: TurnRecord) -> None:
    """Print a turn for a person: what was asked, what became of it, what was answered."""
    line = record.line
    output.emit(f"Turn {line.id}, {line.conversation}: {line.state}{_because(record.reason)}")
    cost = [f"{record.input_tokens} tokens in, {record.output_tokens} out"] if record.input_tokens is not None else []
    cost += [f"{record.cost_usd:.4f} USD"] if record.cost_usd is not None else []
    _fields(
        ("agent", line.agent),
        ("session", line.session_id),
        ("runs", f"{record.attempt}, interrupted {record.interruptions}" if record.attempt else None),
        ("next try", clock.iso(record.not_before)),
        ("cost", ", ".join(cost)),
        ("detail", record.detail),
        ("lane", f"{record.lane}{', ahead of others' if record.ahead else ''}" if _is_special(record) else None),
        ("piece of", f"turn {record.merged_into}" if record.merged_into is not None else None),
    )
    _show_history(record.history)
    if record.context:
        _show_text("In answer to", record.context)
    _show_text("Message", record.text)
    for piece in record.pieces:
        _show_text(f"Its rest, turn {piece.turn}", piece.text)
    for at, text in record.earlier:
        _show_text(f"Before it was edited at {clock.iso(at)}", text)
    if record.reply is not None:
        output.emit("")
        show_delivery(record.reply)


def _is_special(record: TurnRecord) -> bool:
    return record.ahead or record.lane != "turns"


def show_delivery(record: DeliveryRecord) -> None:
    """Print a delivery for a person."""
    output.emit(f"Delivery {record.id} to {record.channel}:{record.target}: {record.state}{_because(record.reason)}")
    done = sum(part.delivered_at is not None for part in record.parts)
    _fields(
        ("turn", record.turn_id),
        ("notice", record.notice),
        ("attempts", record.attempt),
        ("delays", record.delays or None),
        ("parts", f"{done} of {len(record.parts)} delivered"),
        ("repeat", "possibly" if record.repeat else None),
        ("next try", clock.iso(record.not_before)),
    )
    _show_history(record.history)
    for part in record.parts:
        _show_text("Reply" if len(record.parts) == 1 else f"Part {part.seq}", part.text)


def show_rejected(record: Rejected) -> None:
    """Print a rejected update for a person."""
    output.emit(f"Update {record.position} of {record.channel}: rejected{_because(record.reason)}")
    _fields(("at", clock.iso(record.rejected_at)), ("off the list", clock.iso(record.dismissed_at)))
    _show_text("As it came", record.raw or None)


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""


def _fields(*pairs: tuple[str, object]) -> None:
    for name, value in pairs:
        if value not in {None, ""}:
            output.emit(f"  {name:9} {value}")


def _show_history(history: tuple[Change, ...]) -> None:
    for change in history:
        output.emit(f"  {clock.iso(change.at)}  {change.target} by {change.actor}{_because(change.reason)}")


def _show_text(title: str, text: str | None) -> None:
    output.emit(f"\n{title}:\n{ERASED if text is None else text}")
