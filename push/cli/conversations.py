"""`push conversations`: who talks with the assistant, and what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output, records
from push.cli.options import config_option, json_option, settings_or_default, wants_json
from push.errors import PushError

if TYPE_CHECKING:
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
        rows = [(line.conversation, records.ago(line.last_at, now), line.last_turn, line.open) for line in found]
        output.table(rows, ("CONVERSATION", "LAST MESSAGE", "TURN", "OPEN"))


@conversations.command()
@click.argument("key")
@click.option("--limit", type=ledger.LIMIT, default=20, show_default=True, help="At most so many turns.")
@config_option
@json_option
@click.pass_context
def show(ctx: click.Context, key: str, limit: int) -> None:
    """Show a conversation: its session, and the newest messages with their texts, oldest first."""
    from push import clock
    from push.ledger import listing

    with ledger.opened(ctx) as db:
        line = listing.conversation(db, key) if db is not None else None
        if db is None or line is None:
            raise ledger.not_there(f"conversation {key}", "push conversations list")
        messages = listing.messages(db, key, limit)
    session = _session(ctx, key)
    if wants_json(ctx):
        items = [
            {"turn": m.turn, "role": m.role, "state": m.state, "at": clock.iso(m.at), "text": m.text} for m in messages
        ]
        output.emit_json({"conversation": {**_line(line), "session": _session_fields(session)}, "items": items})
        return
    output.emit(f"{line.conversation}: {line.open} open")
    if line.agent is not None or line.model is not None:
        output.emit(f"  chosen for it: agent {line.agent or 'as configured'}, model {line.model or 'as configured'}")
    if session is not None:
        output.emit(f"  session {session.uuid} of {session.backend}, used on {session.used_on}")
    for message in messages:
        text = "(no longer kept)" if message.text is None else message.text
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
    }


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
