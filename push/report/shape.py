"""The snapshot as one JSON object: what `push status --json` prints. Field names are documented and stable.

Owns names and units (instants ISO 8601 in UTC, sizes in bytes, durations in seconds); does not own gathering.
"""

from __future__ import annotations

from typing import Any

from push import clock
from push.errors import PushError
from push.ledger.backlog import Backlog
from push.ledger.conversations import Paused
from push.ledger.pace import Pause
from push.ledger.retries import Retry
from push.report.channels import ChannelState
from push.report.kept import Kept
from push.report.snapshot import RunningTurn, Snapshot
from push.tasks.roles import Holder


def as_json(taken: Snapshot) -> dict[str, Any]:
    """The whole snapshot. `turns` and `deliveries` are null where the ledger is absent or cannot be read."""
    return {
        "home": str(taken.home),
        "at": clock.iso(taken.at),
        "processes": [_process(holder) for holder in taken.holders],
        "channels": [_channel(channel) for channel in taken.channels],
        "turns": _turns(taken.backlog) if taken.backlog else None,
        "running": [_running(run, taken.at) for run in taken.running],
        "postponed": [_postponed(row) for row in taken.postponed],
        "deliveries": _deliveries(taken.backlog) if taken.backlog else None,
        "pauses": [pause_fields(pause) for pause in (taken.backlog.pauses if taken.backlog else ())],
        "paused": [_paused(item) for item in (taken.backlog.paused if taken.backlog else ())],
        "rejected": taken.backlog.rejected if taken.backlog else None,
        "files": {"bytes": taken.files, "free_bytes": taken.free, "spool_leftover": taken.leftover},
        "kept": _kept(taken.kept) if taken.kept else None,
        "ledger": _health(taken.trouble, present=taken.backlog is not None),
        "state": _health(taken.state_trouble, present="state.json" in taken.files),
        "attention": [{"message": note.what, "hint": note.command} for note in taken.attention],
    }


def _process(holder: Holder) -> dict[str, Any]:
    loops = [{"name": name, "beat_at": clock.iso(at), "note": note} for name, (at, note) in holder.loops.items()]
    return {
        "role": holder.role,
        "pid": holder.pid,
        "command": holder.command,
        "started_at": clock.iso(holder.started_at),
        "loops": loops,
    }


def _channel(channel: ChannelState) -> dict[str, Any]:
    return {
        "name": channel.name,
        "note": channel.note,
        "note_at": clock.iso(channel.note_at),
        "good_at": clock.iso(channel.good_at),
        "deaf_since": clock.iso(channel.deaf_since),
    }


def pause_fields(pause: Pause) -> dict[str, Any]:
    """A chat to which nothing is sent until an instant. `chat` is null where it holds for the whole channel."""
    return {
        "channel": pause.channel,
        "chat": pause.key or None,
        "until": clock.iso(pause.until),
        "reason": pause.reason,
    }


def _kept(kept: Kept) -> dict[str, Any]:
    limits, texts = kept.limits, kept.texts
    history = {
        "messages": texts.messages if texts else None,
        "since": clock.iso(texts.since) if texts else None,
        "erased": texts.erased if texts else None,
        "erased_at": clock.iso(texts.erased_at) if texts else None,
    }
    return {
        "history": {"limit": limits.history, **history},
        "audit": {"limit": limits.audit, "since": clock.iso(kept.audit_since)},
        "logs": {"limit": limits.logs, "since": clock.iso(kept.logs_since)},
        "spool": {"limit": limits.spool},
    }


def _paused(item: Paused) -> dict[str, Any]:
    return {"conversation": item.conversation, "paused_at": clock.iso(item.since), "waiting": item.waiting}


def _turns(backlog: Backlog) -> dict[str, Any]:
    return {
        **{state: backlog.turns.get(state, 0) for state in ("queued", "running", "waiting", "interrupted")},
        "oldest_open_at": clock.iso(backlog.oldest_turn),
        "held": backlog.held.turns,
        "postponed": backlog.postponed,
        "failed": backlog.failed_turns,
    }


def _running(run: RunningTurn, now: int) -> dict[str, Any]:
    return {
        "id": run.turn.id,
        "conversation": run.turn.conversation,
        "agent": run.turn.agent,
        "attempt": run.turn.attempt,
        "started_at": clock.iso(run.turn.started_at),
        "elapsed": max(now - run.turn.started_at, 0) / 1000,
        "pid": run.pid,
    }


def _postponed(row: Retry) -> dict[str, Any]:
    return {
        "id": row.number,
        "conversation": row.conversation,
        "state": row.state,
        "reason": row.reason,
        "next_attempt_at": clock.iso(row.not_before),
    }


def _deliveries(backlog: Backlog) -> dict[str, Any]:
    return {
        **{state: backlog.deliveries.get(state, 0) for state in ("pending", "sending", "waiting")},
        **{state: backlog.stuck.get(state, 0) for state in ("failed", "unknown")},
        "held": backlog.held.deliveries,
        "possibly_twice": backlog.repeated,
        "oldest_open_at": clock.iso(backlog.oldest_delivery),
        "targets": [
            {"channel": channel, "target": target, "open": count} for channel, target, count in backlog.waiting_for
        ],
    }


def _health(trouble: PushError | None, *, present: bool) -> dict[str, Any]:
    if trouble is None:
        return {"ok": True, "present": present}
    return {"ok": False, "code": trouble.code, "why": trouble.why, "hint": trouble.hint}
