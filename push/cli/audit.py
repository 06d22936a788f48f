"""`push audit`: what the gateway did, record by record, as it stands in audit.jsonl."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output
from push.cli.options import config_option, json_option, settings_or_default, wants_json
from push.errors import EXIT_INTERRUPTED, EXIT_OK

if TYPE_CHECKING:
    from push.report.trail import Record, Trail

_LOOK_SECONDS = 0.25


@click.group()
@config_option
@json_option
def audit() -> None:
    """What the gateway did, record by record."""


@audit.command()
@click.option("-n", "--lines", "count", type=ledger.LIMIT, default=20, show_default=True, help="At most so many.")
@click.option("--event", "events", multiple=True, metavar="NAME", help="Only records of this event. May be repeated.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, also into a new file, until Ctrl-C.")
@config_option
@json_option
@click.pass_context
def tail(ctx: click.Context, count: int, events: tuple[str, ...], *, follow: bool) -> int:
    """Show the newest records, the newest last.

    Each says when, what, in which conversation, of which turn, and why. With --follow --json, each is an object on a
    line of its own.
    """
    from push.report.trail import Trail

    trail = Trail(settings_or_default(ctx).home.audit, frozenset(events))
    try:
        found = trail.newest(count)
        if wants_json(ctx) and not follow:
            output.emit_json({"items": [_item(record) for record in found], "damaged": trail.damaged})
            return EXIT_OK
        for record in found:
            _show(record, as_json=wants_json(ctx))
        if follow:
            return _follow(trail, as_json=wants_json(ctx))
        if not found:
            output.note("There are no such records." if events else "Nothing was recorded yet.")
        _tell_damage(trail)
    finally:
        trail.close()
    return EXIT_OK


def _follow(trail: Trail, *, as_json: bool) -> int:
    try:
        while True:
            for record in trail.more():
                _show(record, as_json=as_json)
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        _tell_damage(trail)
        return EXIT_INTERRUPTED


def _tell_damage(trail: Trail) -> None:
    if trail.damaged:
        output.note(f"{trail.damaged} damaged {'line' if trail.damaged == 1 else 'lines'} left out.")


def _item(record: Record) -> dict[str, Any]:
    from push import clock

    return {"at": clock.iso(record.at), "event": record.event, "fields": record.fields}


def _show(record: Record, *, as_json: bool) -> None:
    if as_json:
        output.emit_json_line(_item(record))
    else:
        output.emit(_line(record))


def _line(record: Record) -> str:
    """`2026-03-01 12:00:00  turn_postponed  local:ann  t12  disk_full  name=value …`."""
    from push import clock

    fields = dict(record.fields)
    turn = fields.pop("turn", None)
    leading = (fields.pop("thread", None), None if turn is None else f"t{turn}", fields.pop("reason", None))
    parts = [f"{clock.from_ms(record.at).astimezone():%Y-%m-%d %H:%M:%S}", record.event]
    parts += [str(part) for part in leading if part is not None]
    parts += [f"{name}={_value(value)}" for name, value in fields.items()]
    return "  ".join(" ".join(part.split()) for part in parts)


def _value(value: object) -> str:
    """Of a message only its length, also where the owner has its text recorded."""
    if isinstance(value, dict) and "chars" in value:
        return f"({value['chars']} characters)"
    return str(value)
