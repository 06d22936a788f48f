"""`push run`, `push poll`, `push consumer`: the gateway in the foreground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from push.cli import options, output
from push.errors import TemporaryError

if TYPE_CHECKING:
    from push.app.service import Parts
    from push.config.settings import Settings


@click.command()
@options.config_option
@click.pass_context
def run(ctx: click.Context) -> None:
    """Poll the channels and answer: everything in one process."""
    from push.app.service import Parts

    _serve(ctx, "push run", Parts(poll=True, consume=True))


@click.command()
@options.config_option
@click.option("--once", is_flag=True, help="Read what is there now, then end.")
@click.pass_context
def poll(ctx: click.Context, *, once: bool) -> None:
    """Only read the channels; consumers answer."""
    from push.app.service import Parts, poll_once

    if once:
        poll_once(_configured(ctx, "poll"), "push poll --once")
        return
    _serve(ctx, "push poll", Parts(poll=True))


@click.command()
@options.config_option
@click.option("--drain", is_flag=True, help="Work until nothing is open and due, then end.")
@click.pass_context
def consumer(ctx: click.Context, *, drain: bool) -> None:
    """Only answer; several consumers may run at once."""
    from push.app import service

    if drain:
        service.drain(_configured(ctx, "consumer"), "push consumer --drain")
        return
    _serve(ctx, "push consumer", service.Parts(consume=True))


def _serve(ctx: click.Context, command: str, parts: Parts) -> None:
    from push.app.service import serve

    settings = _configured(ctx, command.split()[1])
    if not serve(settings, command, parts, output.note):
        raise TemporaryError(
            "some work did not end in time",
            why="it is recorded, and goes on at the next start",
            hint="push status",
            code="slow_stop",
        )


def _configured(ctx: click.Context, role: str) -> Settings:
    from push import telemetry

    settings = options.settings(ctx)
    telemetry.configure(settings, role)
    return settings
