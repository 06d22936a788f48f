"""`push conversations`: who talks with the assistant, and what was said."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output, records
from push.cli.options import config_option, json_option, settings_or_default, wants_json
from push.errors import PushError

if TYPE_CHECKING:
    from push.ledger.database import Database
    from push.ledger.listing import ConversationLine
    from push.model.values import Session


@click.group()
@config_option
@json_option
def conversations() -> None:
    """Conversations and what was said."""


@conversations.command("list")
@click.option("--limit", type=ledger.LIMIT, default=50, show_default=True, help="At most so many.")
@config_option
@json_option
@click.pass_context
def list_(ctx: click.Context, limit: int) -> None:
    """List conversations, the one that spoke last first."""
    from push import clock
    from push.ledger import listing

    with ledger.opened(ctx) as db:
        found = listing.conversations(db, limit) if db is not None else []
    if wants_json(ctx):
        output.emit_json({"items": [_line(line) for line in found]})
    elif not found:
        output.note("Nobody has written yet. Begin with: push chat")
    else:
        now = clock.now_ms()
        rows = [
            (
                line.conversation,
                records.ago(line.last_at, now),
                line.last_turn,
                line.open,
                records.ago(line.paused_at, now),
            )
            for line in found
        ]
        output.table(rows, ("CONVERSATION", "LAST MESSAGE", "TURN", "OPEN", "PAUSED"))


@conversations.command()
@click.argument("key")
@click.option("--limit", type=ledger.LIMIT, default=20, show_default=True, help="At most so many turns.")
@config_option
@json_option
@click.pass_context
def show(ctx: click.Context, key: str, limit: int) -> None:
    """Show a conversation, with what was said.

    That is its session, and the newest messages with their texts, oldest first.
    """
    from push import clock
    from push.ledger import listing

    with ledger.opened(ctx) as db:
        line = listing.conversation(db, key) if db is not None else None
        if db is None or line is None:
            raise _unknown(db, key, "show")
        messages = listing.messages(db, key, limit)
    session = _session(ctx, key)
    if wants_json(ctx):
        items = [
            {"turn": m.turn, "role": m.role, "state": m.state, "at": clock.iso(m.at), "text": m.text} for m in messages
        ]
        output.emit_json({"conversation": {**_line(line), "session": _session_fields(session)}, "items": items})
        return
    output.emit(f"{line.conversation}: {line.open} open")
    if line.paused_at is not None:
        from push.report import hints

        output.emit(f"  paused since {clock.iso(line.paused_at)}; {hints.resume(key)}")
    if line.agent is not None or line.model is not None:
        output.emit(f"  chosen for it: agent {line.agent or 'as configured'}, model {line.model or 'as configured'}")
    if session is not None:
        output.emit(f"  session {session.uuid} of {session.backend}, used on {session.used_on}")
    for message in messages:
        text = records.ERASED if message.text is None else message.text
        output.emit(f"\n{message.role}, {clock.iso(message.at)}, turn {message.turn}, {message.state}:\n{text}")


def _line(line: ConversationLine) -> dict[str, Any]:
    from push import clock

    return {
        "conversation": line.conversation,
        "channel": line.channel,
        "created_at": clock.iso(line.created_at),
        "last_at": clock.iso(line.last_at),
        "last_turn": line.last_turn,
        "open": line.open,
        "agent": line.agent,
        "model": line.model,
        "paused_at": clock.iso(line.paused_at),
    }


@conversations.command()
@click.argument("key")
@config_option
@json_option
@click.pass_context
def pause(ctx: click.Context, key: str) -> None:
    """Begin nothing more in a conversation.

    Its messages are taken and wait; what runs goes on; answers are delivered, and /status, /stop and /help work.
    """
    from push.ledger import conversations as rows

    changed = _change(ctx, key, "pause", rows.pause)
    if wants_json(ctx):
        output.emit_json({"conversation": key, "paused": True, "changed": changed})
    else:
        from push.report import hints

        output.emit(f"{key} is paused{'' if changed else ', as before'}. To go on: {hints.resume(key)}")


@conversations.command()
@click.argument("key")
@config_option
@json_option
@click.pass_context
def resume(ctx: click.Context, key: str) -> None:
    """Let a paused conversation go on, with what waits in it."""
    from push.ledger import conversations as rows
    from push.tasks import wake

    changed = _change(ctx, key, "resume", rows.resume)
    heard = wake.ring(settings_or_default(ctx).home.run, "sweep") > 0
    if wants_json(ctx):
        output.emit_json({"conversation": key, "paused": False, "changed": changed, "heard": heard})
    elif not changed:
        output.emit(f"{key} was not paused.")
    else:
        output.emit(f"{key} goes on{'' if heard else ' as soon as a gateway runs'}.")


def _change(ctx: click.Context, key: str, verb: str, act: Callable[[Database, str], bool | None]) -> bool:
    """Carry it out, and record it where it changed something. Raises Failed for a conversation that is not there."""
    ledger.refuse_agents(ctx, f"{verb} a conversation")
    settings = settings_or_default(ctx)
    with ledger.opened(ctx) as db:
        changed = act(db, key) if db is not None else None
        if changed is None:
            raise _unknown(db, key, verb)
    if changed:
        from push.audit import Audit

        audit = Audit(settings.home.audit, content=settings.audit_log_content, secrets=settings.secret_values())
        audit.record("conversation_changed", outcome=f"{verb}d", thread=key, actor="operator")
        audit.close()
    return changed


def _unknown(db: Database | None, key: str, verb: str) -> PushError:
    """The error for a name that no conversation has, with the nearest that one has."""
    import difflib
    import shlex

    from push.ledger import conversations as rows

    near = difflib.get_close_matches(key, rows.keys(db) if db is not None else [], n=1)
    hint = f"push conversations {verb} {shlex.quote(near[0])}" if near else "push conversations list"
    return ledger.not_there(f"conversation {key}", hint)


def _session(ctx: click.Context, key: str) -> Session | None:
    """The session in state.json; the conversation can be shown without it."""
    from push.state import StateFile

    try:
        return StateFile(settings_or_default(ctx).home.state).session(key)
    except PushError as exc:
        output.note(f"The session is not known: {exc.message}.")
        return None


def _session_fields(session: Session | None) -> dict[str, Any] | None:
    if session is None:
        return None
    return {
        "id": session.uuid,
        "agent": session.backend,
        "epoch": session.epoch,
        "work_dir": session.work_dir or None,
        "used_on": session.used_on or None,
    }
