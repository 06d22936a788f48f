"""`push usage`: what agents were asked to do, and what it took: turns, tokens, cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output
from push.cli.options import config_option, json_option, wants_json

if TYPE_CHECKING:
    from push.ledger.usage import Share

_GROUPS = ("day", "agent", "conversation")


@click.command()
@click.option("--days", type=click.IntRange(1, 3660), default=30, show_default=True, help="Today and the days before.")
@click.option("--by", type=click.Choice(_GROUPS), help="Only this table (default: all three).")
@click.option("--limit", type=ledger.LIMIT, default=50, show_default=True, help="At most so many conversations.")
@config_option
@json_option
@click.pass_context
def usage(ctx: click.Context, days: int, by: str | None, limit: int) -> None:
    """Show what agents used: turns, tokens in and out, and the cost where the agent tells it.

    What failed counts too. A day is one of this machine's zone.
    """
    from push import clock
    from push.ledger import usage as sums

    since = clock.local_midnight(days - 1)
    groups = (by,) if by else _GROUPS
    with ledger.opened(ctx) as db:
        found = {group: sums.shares(db, group, since) if db is not None else [] for group in groups}
    left = max(len(found.get("conversation", ())) - limit, 0)
    total = sums.total("total", found[groups[0]])
    found = {group: shares[:limit] if group == "conversation" else shares for group, shares in found.items()}
    if wants_json(ctx):
        items = [{"by": group, "name": share.name, **_fields(share)} for group in groups for share in found[group]]
        zone = clock.local_zone()
        told = {"zone": zone, "since": clock.iso(since), "days": days, "total": _fields(total), "left_off": left}
        output.emit_json({**told, "items": items})
    elif not total.used.messages:
        output.note(f"No agent has run since {clock.local_day(since)}.")
    else:
        _show(found, total, left)


def _fields(share: Share) -> dict[str, Any]:
    used = share.used
    return {
        "turns": used.messages,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cost_usd": None if used.cost_usd is None else round(used.cost_usd, 6),
        "priced_turns": share.priced,
    }


def _show(found: dict[str, list[Share]], total: Share, left: int) -> None:
    for number, (group, shares) in enumerate(found.items()):
        if number:
            output.emit("")
        rows = [_row(share) for share in (*shares, *([] if left and group == "conversation" else [total]))]
        output.table(rows, (group.upper(), "TURNS", "TOKENS IN", "TOKENS OUT", "COST (USD)"))
    if left:
        output.note(f"{left:,} conversations more: --limit {left + len(found['conversation'])}")
    if 0 < total.priced < total.used.messages:
        output.note(f"The cost is known of {total.priced:,} of {total.used.messages:,} turns.")


def _row(share: Share) -> tuple[str | None, ...]:
    used = share.used
    cost = None if used.cost_usd is None else f"{used.cost_usd:,.2f}"
    return share.name, f"{used.messages:,}", _count(used.input_tokens), _count(used.output_tokens), cost


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"
