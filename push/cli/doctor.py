"""`push doctor [--fix]`: is this machine, this configuration, this state in order, and if not, what next.

Owns how findings are printed; does not own the checks (`push.doctor`).
"""

from __future__ import annotations

import click

from push.cli import output
from push.cli.options import config_file, config_option, json_option, wants_json


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired: permissions, a damaged state.json.")
@config_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, *, fix: bool) -> int:
    """Check the machine, the configuration and the state. Exits with 1 where something fails."""
    from push.doctor import Status, examine, mended

    found = [mended(finding) if fix else finding for finding in examine(config_file(ctx))]
    failed = sum(finding.status is Status.FAILED for finding in found)
    if wants_json(ctx):
        items = [
            {"check": item.check, "status": item.status, "message": item.message, "hint": item.hint} for item in found
        ]
        output.emit_json({"items": items, "failed": failed})
    else:
        for item in found:
            lines = [f"{item.check}: {item.message}", *([f"next: {item.hint}"] if item.hint else [])]
            output.emit(f"{item.status:<8}" + "\n".join(lines).replace("\n", f"\n{'':8}"))
        output.emit(f"{len(found)} checks, {failed} failed")
    return 1 if failed else 0
