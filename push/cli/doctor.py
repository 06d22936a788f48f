"""`push doctor [--fix]`: is this machine, this configuration, this state in order, and if not, what next.

Owns how findings are printed; does not own the checks (`push.doctor`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from push.cli import output
from push.cli.options import config_file, config_option, json_option, wants_json

if TYPE_CHECKING:
    from push.doctor import Finding


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired: permissions, a damaged state.json.")
@config_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, *, fix: bool) -> int:
    """Check the machine, the configuration and the state. Exits with 1 where something fails."""
    from push.doctor import examine, mended

    found = [mended(finding) if fix else finding for finding in examine(config_file(ctx))]
    if wants_json(ctx):
        items = [
            {"check": item.check, "status": item.status, "message": item.message, "hint": item.hint} for item in found
        ]
        output.emit_json({"items": items, "failed": failures(found)})
    else:
        show(found)
    return 1 if failures(found) else 0


def failures(found: Sequence[Finding]) -> int:
    """How many checks failed."""
    return sum(finding.status == "failed" for finding in found)


def show(found: Sequence[Finding]) -> None:
    """Print findings, each with its next command, and how many there are. `push init` ends with them too."""
    for item in found:
        lines = [f"{item.check}: {item.message}", *([f"next: {item.hint}"] if item.hint else [])]
        output.emit(f"{item.status:<8}" + "\n".join(lines).replace("\n", f"\n{'':8}"))
    output.emit(f"{len(found)} checks, {failures(found)} failed")
