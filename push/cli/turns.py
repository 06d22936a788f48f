"""`push turns`: messages, and how far each one got."""

from __future__ import annotations

import click

from push.cli import ledger, output, records
from push.cli.options import config_option, json_option, settings_or_default, wants_json
from push.errors import ConflictError
from push.model.machines import TURN


@click.group()
@config_option
@json_option
def turns() -> None:
    """Messages and how far each one got."""


@turns.command("list")
@click.option("--conversation", metavar="KEY", help="Only of this conversation (local:ann).")
@click.option("--state", type=click.Choice(("open", *TURN.states)), help="Only those in this state.")
@click.option("--before", type=int, metavar="ID", help="Only those older than this one.")
@click.option("--limit", type=ledger.LIMIT, default=50, show_default=True, help="At most so many.")
@config_option
@json_option
@click.pass_context
def list_(ctx: click.Context, conversation: str | None, state: str | None, before: int | None, limit: int) -> None:
    """List turns, the newest first."""
    from push import clock
    from push.ledger import listing

    wanted = listing.Selection(conversation, state, before, limit)
    with ledger.opened(ctx) as db:
        found = listing.turns(db, wanted) if db is not None else []
    if wants_json(ctx):
        output.emit_json({"items": [records.turn_line(line) for line in found]})
    elif not found:
        output.note("There are no such turns.")
    else:
        now = clock.now_ms()
        rows = [(t.id, t.conversation, t.state, records.ago(t.queued_at, now), records.took(t), t.agent) for t in found]
        output.table(rows, ("ID", "CONVERSATION", "STATE", "QUEUED", "TOOK", "AGENT"))


@turns.command()
@click.argument("name", metavar="ID")
@config_option
@json_option
@click.pass_context
def show(ctx: click.Context, name: str) -> None:
    """Show one turn with its texts: the message, its history, the reply."""
    from push.ledger import listing

    number = ledger.turn_number(name)
    with ledger.opened(ctx) as db:
        record = listing.turn_record(db, number) if db is not None else None
    if record is None:
        raise ledger.not_there(f"turn {number}", "push turns list")
    if wants_json(ctx):
        output.emit_json({"turn": records.turn(record)})
    else:
        records.show_turn(record)


@turns.command()
@click.argument("name", metavar="ID")
@config_option
@json_option
@click.pass_context
def cancel(ctx: click.Context, name: str) -> None:
    """Stop a turn, whether it runs or waits.

    That is the agent that runs, with all its processes, or a message that still waits.
    """
    from push.gateway import cancelling
    from push.ledger import turns as rows
    from push.tasks import wake

    number = ledger.turn_number(name)
    with ledger.opened(ctx) as db:
        turn = rows.get(db, number) if db is not None else None
        if db is None or turn is None:
            raise ledger.not_there(f"turn {number}", "push turns list")
        if not cancelling.cancel(db, settings_or_default(ctx).home.spool, number):
            raise ConflictError(
                f"turn {number} cannot be stopped any more",
                why="it has ended",
                hint=f"push turns show {number}",
                code="turn_ended",
            )
        after = rows.get(db, number)
    wake.ring(settings_or_default(ctx).home.run, "sweep")  # for what waits behind one that had not begun
    state = after.state if after is not None else turn.state
    if wants_json(ctx):
        output.emit_json({"turn": number, "state": state})
    elif state == "cancelled":
        output.emit(f"Turn {number} is cancelled.")
    else:
        output.emit(f"Turn {number} is being stopped.")
