"""Opening the ledger for a command, and the names of rows on the command line.

Owns what the nouns on top of push.db share; does not own what they show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from push.cli.options import settings_or_default
from push.errors import ConflictError, Failed, UsageError

if TYPE_CHECKING:
    from push.ledger.database import Database
    from push.paths import Home

LIMIT = click.IntRange(1, 10_000)
_NAME = re.compile(r"([tdx]?)([1-9]\d{0,17})")
_KINDS = {"t": "turn", "d": "delivery", "x": "rejected"}


@contextmanager
def opened(ctx: click.Context) -> Iterator[Database | None]:
    """The ledger of this home; None where there is none yet."""
    from push.ledger.database import Database

    db = Database.open_existing(settings_or_default(ctx).home.push_db)
    try:
        yield db
    finally:
        if db is not None:
            db.close()


def turn_number(name: str) -> int:
    """The turn that `12` or `t12` names. Raises UsageError."""
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in {"", "t"}:
        raise UsageError(f"{name!r} names no turn", why="turns are named 12 or t12", hint="push turns list")
    return int(match[2])


def row_name(name: str) -> tuple[str, int]:
    """(`turn`, `delivery` or `rejected`, its number) for t12, d7 and x3. Raises UsageError."""
    match = _NAME.fullmatch(name)
    if match is None or not match[1]:
        why = "turns are named t12, deliveries d7, rejected updates x3"
        raise UsageError(f"{name!r} names nothing", why=why, hint="push retries list")
    return _KINDS[match[1]], int(match[2])


def refuse_agents(ctx: click.Context, what: str) -> None:
    """Raise ConflictError where an agent's run of this home is among our ancestors: `what` is its owner's alone."""
    refuse_agents_of(settings_or_default(ctx).home, what)


def refuse_agents_of(home: Home, what: str) -> None:
    """The same for a home whose configuration may be missing or wrong."""
    from push.agents import process

    if process.caller_is_agent(home.spool):
        raise ConflictError(
            f"an agent's run cannot {what}",
            why="only the owner of this machine may, in a terminal of their own",
            hint="push status",
            code="caller_is_agent",
        )


def not_there(what: str, hint: str) -> Failed:
    """The error for a row that is not in the ledger."""
    return Failed(f"there is no {what}", why="the ledger of this home does not hold it", hint=hint, code="not_found")
