"""`push run`, `push poll`, `push consumer`: the gateway in the foreground."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from push.cli import options, output
from push.errors import TemporaryError

if TYPE_CHECKING:
    from push.config.settings import Settings


@click.command()
@options.config_option
@click.pass_context
def run(ctx: click.Context) -> None:
    """Poll the channels and answer: everything in one process."""
    _serve(ctx, "push run", poll=True, consume=True)


@click.command()
@options.config_option
@click.option("--once", is_flag=True, help="Read what is there now, then end.")
@click.pass_context
def poll(ctx: click.Context, *, once: bool) -> None:
    """Only read the channels; consumers answer."""
    if once:
        from push.app.service import poll_once

        poll_once(_configured(ctx, "poll"), "push poll --once")
        return
    _serve(ctx, "push poll", poll=True)


@click.command()
@options.config_option
@click.option("--drain", is_flag=True, help="Work until nothing is open and due, then end.")
@click.pass_context
def consumer(ctx: click.Context, *, drain: bool) -> None:
    """Only answer; several consumers may run at once."""
    if drain:
        from push.app import service

        service.drain(_configured(ctx, "consumer"), "push consumer --drain")
        return
    _serve(ctx, "push consumer", consume=True)


def _serve(ctx: click.Context, command: str, **parts: bool) -> None:
    from push.app.orders import Orders

    orders = Orders()  # before everything else: what is imported and read below takes its time
    from push.app.generation import Parts
    from push.app.service import serve
    from push.config import load

    settings = _configured(ctx, command.split()[1])
    if not serve(settings, Parts(command, **parts), orders, partial(load, options.config_file(ctx)), output.note):
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
