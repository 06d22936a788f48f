"""`push verify`: prove that nothing was lost, or name what is damaged."""

from __future__ import annotations

import click

from push.cli import output
from push.cli.options import config_option, json_option, settings_or_default, wants_json


@click.command()
@config_option
@json_option
@click.pass_context
def verify(ctx: click.Context) -> int:
    """Prove from push.db and state.json that every accepted message is accounted for.

    Names each damage and exits with 1 where there is any. Changes nothing, and may run beside a gateway.
    """
    from push.report.proof import prove

    with output.Waiting() as waiting:
        proof = prove(settings_or_default(ctx).home, lambda what: waiting.tick(f"looking at {what}"))
    damages = [{"code": damage.code, "row": damage.row, "message": damage.sentence} for damage in proof.damages]
    if wants_json(ctx):
        checked = {"turns": proof.turns, "deliveries": proof.deliveries}
        output.emit_json({"ok": not damages, "checked": checked, "items": damages, "omitted": proof.omitted})
        return int(bool(damages))
    for damage in proof.damages:
        output.emit(f"{damage.code}  {damage.row}: {damage.sentence}")
    for code, count in proof.omitted.items():
        output.emit(f"{code}  … and {count} more")
    if damages:
        count = len(damages) + sum(proof.omitted.values())
        output.note(f"{count} damage{'s' if count > 1 else ''}. What each means: docs/reference/verify.md")
        output.note("Push repairs none of them by guessing. To go back to a copy: push backup restore --help")
        return 1
    turns = "1 turn" if proof.turns == 1 else f"{proof.turns} turns"
    deliveries = "1 delivery" if proof.deliveries == 1 else f"{proof.deliveries} deliveries"
    output.emit(f"All is accounted for: {turns}, {deliveries}.")
    return 0
