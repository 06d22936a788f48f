"""`push retries`: the one place for all that waits or failed.

Owns what a person may wish for such a row and how it is answered; does not own the rows (`push.ledger.retries`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output, records
from push.cli.options import config_option, json_option, settings_or_default, wants_json
from push.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from push.ledger.database import Database
    from push.ledger.pace import Pause
    from push.ledger.retries import Done, Retry


@click.group()
@config_option
@json_option
def retries() -> None:
    """Everything that waits or failed, in one place."""


@retries.command("list")
@click.option("--limit", type=ledger.LIMIT, default=100, show_default=True, help="At most so many of each sort.")
@config_option
@json_option
@click.pass_context
def list_(ctx: click.Context, limit: int) -> None:
    """List all that waits, and all that failed.

    First what is held or waits for another try, then what failed or possibly arrived twice, the newest first.
    """
    from push import clock
    from push.ledger import pace
    from push.ledger import retries as rows

    with ledger.opened(ctx) as db:
        found = rows.waiting_or_failed(db, limit) if db is not None else []
        pauses = pace.pauses(db) if db is not None else []
    items = [item(row) for row in found]
    if wants_json(ctx):
        from push.report.shape import pause_fields

        output.emit_json({"items": items, "pauses": [pause_fields(pause) for pause in pauses]})
        return
    now = clock.now_ms()
    if found:
        table = [
            (row.id, row.state, row.reason, records.ago(row.not_before, now), _place(row), fields["hint"])
            for row, fields in zip(found, items, strict=True)
        ]
        output.table(table, ("ID", "STATE", "REASON", "NEXT TRY", "CONVERSATION", "NEXT STEP"))
    else:
        output.note("Nothing waits for another try, and nothing failed.")
    if any(row.state == "failed" for row in found):
        output.note("What failed stays listed until: push retries drop ID")
    for pause in pauses:
        output.note(f"{records.paused(pause, now)}.")


def _place(row: Retry) -> str:
    return row.conversation or row.channel


def item(row: Retry) -> dict[str, Any]:
    """A row as an item of `push retries list --json`."""
    from push import clock
    from push.report import advice

    attempt, max_attempts = advice.attempts(row)
    return {
        "kind": row.kind,
        "id": row.id,
        "state": row.state,
        "attempt": attempt,
        "max_attempts": max_attempts,
        "next_attempt_at": clock.iso(row.not_before),
        "reason": row.reason,
        "hint": advice.hint(row),
        "conversation": row.conversation,
        "channel": row.channel,
    }


@retries.command()
@click.argument("name", metavar="ID")
@config_option
@json_option
@click.pass_context
def show(ctx: click.Context, name: str) -> None:
    """Show one row with its texts."""
    from push.ledger import listing
    from push.ledger import retries as rows

    kind, number = ledger.row_name(name)
    with ledger.opened(ctx) as db:
        if db is None:
            raise _not_there(name)
        if kind == "rejected":
            ledger.refuse_agents(ctx, "see what could not be stored as a message")
        turn = listing.turn_record(db, number) if kind == "turn" else None
        delivery = listing.delivery_record(db, number) if kind == "delivery" else None
        rejected = rows.rejected(db, number) if kind == "rejected" else None
    if turn is not None:
        output.emit_json({"turn": records.turn(turn)}) if wants_json(ctx) else records.show_turn(turn)
    elif delivery is not None:
        output.emit_json({"delivery": records.delivery(delivery)}) if wants_json(ctx) else records.show_delivery(
            delivery
        )
    elif rejected is not None:
        output.emit_json({"rejected": records.rejected(rejected)}) if wants_json(ctx) else records.show_rejected(
            rejected
        )
    else:
        raise _not_there(name)


@retries.command()
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--held", "all_held", is_flag=True, help="Everything that a restored copy holds, in its order.")
@config_option
@json_option
@click.pass_context
def now(ctx: click.Context, names: tuple[str, ...], *, all_held: bool) -> None:
    """Try at once. A delivery that failed, or may have arrived, is sent again, behind those that wait.

    What is held is released: a message is answered, an answer is sent, marked as a possible repeat. A chat that its
    service has paused is left in peace until the pause ends.
    """
    if all_held == bool(names):
        why = "either rows are named, or --held means all that are held"
        raise UsageError("push retries now needs rows", why=why, hint="push retries list")
    if all_held:
        _held_now(ctx)
        return
    with ledger.opened(ctx) as db:
        done = [_now(ctx, db, name) for name in names]
    if wants_json(ctx):
        output.emit_json(done[0] if len(done) == 1 else {"items": done})


def _now(ctx: click.Context, db: Database | None, name: str) -> dict[str, Any]:
    from push import clock
    from push.ledger import pace
    from push.providers import local
    from push.tasks import wake

    row = _row(db, name)
    assert db is not None
    if row.kind == "turn":
        _turn_now(db, row)
    elif row.kind == "delivery":
        _delivery_now(db, row)
    else:
        raise _never_a_message(row)
    pause = next((pause for pause in pace.pauses(db) if row.kind == "delivery" and _concerns(pause, row)), None)
    is_printed = row.kind == "delivery" and row.channel == local.CHANNEL
    heard = wake.ring(settings_or_default(ctx).home.run, "terminal" if is_printed else "sweep")
    if not wants_json(ctx):
        if pause is not None:
            output.emit(f"{name} is due when its chat's pause ends.\n{_until(pause)}.")
        elif heard:
            output.emit(f"{name} is due now.")
        else:
            output.emit(f"{name} is due as soon as {'a terminal is open' if is_printed else 'a gateway runs'}.")
    until = clock.iso(pause.until) if pause else None
    return {"kind": row.kind, "id": name, "heard": heard > 0, "paused_until": until}


def _held_now(ctx: click.Context) -> None:
    from push.ledger import held
    from push.tasks import wake

    ledger.refuse_agents(ctx, "release what is held")
    with ledger.opened(ctx) as db, output.Waiting() as waiting:
        released = held.Held()
        if db is not None:
            released = held.release_everything(db, lambda done: waiting.tick(f"released {done.rows}"))
    run_dir = settings_or_default(ctx).home.run
    heard = wake.ring(run_dir, "sweep") + wake.ring(run_dir, "terminal") > 0
    if wants_json(ctx):
        output.emit_json({"released": {"turns": released.turns, "deliveries": released.deliveries}, "heard": heard})
    elif not released.rows:
        output.note("Nothing is held.")
    else:
        when = "now" if heard else "as soon as a gateway runs"
        output.emit(f"Released {records.rows(released.turns, released.deliveries)}; due {when}.")


def _concerns(pause: Pause, row: Retry) -> bool:
    """Whether a pause holds a delivery up: it is of its chat, whatever the topic, or of the whole channel."""
    chat = (row.target or "").partition(":")[0]
    return pause.channel == row.channel and pause.key in {"", chat, row.target}


def _until(pause: Pause) -> str:
    from push import clock

    return records.paused(pause, clock.now_ms())


def _never_a_message(row: Retry) -> ConflictError:
    return ConflictError(
        f"{row.id} cannot be tried again",
        why="an update that could not be stored as a message would not be different now",
        hint=f"push retries show {row.id}",
        code="rejected",
    )


def _turn_now(db: Database, row: Retry) -> None:
    from push.ledger import held, turns
    from push.ledger import retries as rows
    from push.report import advice

    if row.reason == rows.PAUSED:
        raise ConflictError(
            f"{row.id} is not tried now", why="its conversation is paused", hint=advice.hint(row), code="paused"
        )
    if held.release_turn(db, row.number) or turns.now_due(db, row.number):
        return
    again = "it failed, and whoever sent it was told" if row.state == "failed" else f"it is {row.state}"
    raise ConflictError(
        f"{row.id} cannot be tried again", why=again, hint=f"push turns show {row.number}", code="turn_ended"
    )


def _delivery_now(db: Database, row: Retry) -> None:
    from push.ledger import retries as rows

    done = rows.send_again(db, row.number)
    if done is not rows.Done.DONE:
        raise _conflict(row, done, "sent again")


@retries.command()
@click.argument("name", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
@json_option
@click.pass_context
def drop(ctx: click.Context, name: str, *, yes: bool) -> None:
    """Give up for good: a delivery is not sent, a turn is cancelled.

    A failed turn, a delivery that possibly arrived twice, and a rejected update only leave the list.
    """
    from push.ledger import retries as rows

    kind, _ = ledger.row_name(name)
    with ledger.opened(ctx) as db:
        row = _row(db, name)
        assert db is not None
        if not yes and sys.stdin.isatty() and not click.confirm(_question(row), err=True):
            output.note("Nothing was changed.")
            return
        if kind == "delivery":
            done = rows.drop_delivery(db, row.number)
        elif kind == "rejected":
            done = rows.dismiss_rejected(db, row.number)
        elif row.state == "failed":
            done = rows.dismiss_turn(db, row.number)
        else:
            done = _cancel(ctx, db, row)
        if done is not rows.Done.DONE:
            raise _conflict(row, done, "dropped")
    if wants_json(ctx):
        output.emit_json({"kind": kind, "id": name})
    else:
        output.emit(f"{name} is {'no longer listed' if _is_over(row) else 'given up'}.")


def _question(row: Retry) -> str:
    if _is_over(row):
        return output.clean(f"Take {row.id} of {_place(row)} off the list?")
    what = "it is not sent" if row.kind == "delivery" else "it gets no answer"
    return output.clean(f"Give up {row.id} of {_place(row)}, so that {what}?")


def _is_over(row: Retry) -> bool:
    """Whether it only leaves the list: nothing more would become of it."""
    return row.kind == "rejected" or (row.kind, row.state) in {("turn", "failed"), ("delivery", "delivered")}


def _cancel(ctx: click.Context, db: Database, row: Retry) -> Done:
    from push.gateway import cancelling
    from push.ledger import retries as rows
    from push.tasks import wake

    home = settings_or_default(ctx).home
    cancelled = cancelling.cancel(db, home.spool, row.number)
    wake.ring(home.run, "sweep")  # for what waits behind one that had not begun
    return rows.Done.DONE if cancelled else rows.Done.OVER


def _row(db: Database | None, name: str) -> Retry:
    from push.ledger import retries as rows

    row = rows.find(db, *ledger.row_name(name)) if db is not None else None
    if row is None:
        raise _not_there(name)
    return row


def _not_there(name: str) -> Exception:
    return ledger.not_there(name, "push retries list")


def _conflict(row: Retry, done: Done, wish: str) -> ConflictError:
    from push.ledger import retries as rows

    is_listed_no_more = row.kind == "rejected" or row.reason == rows.TWICE
    why = "it is no longer listed" if is_listed_no_more else f"it is {row.state}"
    why = "it is being sent at this very moment" if done is rows.Done.UNDER_WAY else why
    return ConflictError(f"{row.id} cannot be {wish}", why=why, hint=f"push retries show {row.id}", code="row_ended")
