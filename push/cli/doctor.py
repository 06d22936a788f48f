"""`push doctor [--fix] [--agents]`: is this machine, this configuration, this state in order, and if not, what next.

Owns how findings are printed; does not own the checks (`push.doctor`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from push.cli import output
from push.cli.ledger import refuse_agents, refuse_agents_of
from push.cli.options import config_file, config_option, json_option, settings, wants_json

if TYPE_CHECKING:
    from push.doctor import Finding


@click.command()
@click.option("--fix", is_flag=True, help="Repair what is safe to repair: permissions, state.json, room on the disk.")
@click.option("--agents", is_flag=True, help="Ask every agent for one word: a real turn, up to 20 s.")
@click.option(
    "--delete-webhook",
    is_flag=True,
    help="Take the bot from the program that its webhook belongs to; that one gets no messages any more.",
)
@config_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, *, fix: bool, agents: bool, delete_webhook: bool) -> int:
    """Check the machine, the configuration, the state and the service. Exits with 1 where something fails.

    Each finding names the next command. Nothing is changed without --fix or --delete-webhook.
    """
    from push.doctor import ask_agents, examine, mended

    for wanted, what in ((delete_webhook, "delete a webhook"), (fix, "repair a home"), (agents, "ask other agents")):
        if wanted:
            _refuse_agents(ctx, what)
    found = list(_deleted(ctx)) if delete_webhook else []
    checks = examine(config_file(ctx), (ask_agents,) if agents else ())
    found += [mended(finding) if fix else finding for finding in checks]
    if wants_json(ctx):
        output.emit_json({"items": [_item(finding) for finding in found], "failed": failures(found)})
    else:
        show(found)
    return 1 if failures(found) else 0


def _refuse_agents(ctx: click.Context, what: str) -> None:
    """Also where the configuration, which names the spool, is wrong: the checks tell that."""
    from push.errors import ConfigError
    from push.paths import Home, default_home

    try:
        refuse_agents(ctx, what)
    except ConfigError as exc:
        if exc.code != "home_unknown":
            refuse_agents_of(Home.at(default_home()), what)


def _deleted(ctx: click.Context) -> Iterator[Finding]:
    from push.doctor import telegram

    yield telegram.delete_webhook(settings(ctx))


def _item(finding: Finding) -> dict[str, str]:
    return {
        "check": finding.check,
        "status": finding.status,
        "code": finding.code,
        "message": finding.message,
        "hint": finding.hint,
    }


def failures(found: Sequence[Finding]) -> int:
    """How many checks failed."""
    return sum(finding.status == "failed" for finding in found)


def show(found: Sequence[Finding]) -> None:
    """Print findings, each with its next command, and how many there are. `push init` ends with them too."""
    for item in found:
        lines = [f"{item.check}: {item.message}", *([f"next: {item.hint}"] if item.hint else [])]
        output.emit(f"{item.status:<8}" + "\n".join(lines).replace("\n", f"\n{'':8}"))
    output.emit(f"{len(found)} checks, {failures(found)} failed")
