"""Time: the only module that reads a clock.

Instants are aware UTC datetimes in code, integer milliseconds since 1970 in the ledger, ISO 8601 with `Z` in JSON.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from push import environ

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)


def now_ms() -> int:
    """The current instant in milliseconds since 1970-01-01T00:00:00Z."""
    return to_ms(now())


def to_ms(instant: datetime) -> int:
    """An aware datetime as milliseconds since 1970, rounded down."""
    return (instant - _EPOCH) // timedelta(milliseconds=1)


def from_ms(milliseconds: int) -> datetime:
    """Milliseconds since 1970 as an aware UTC datetime."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def iso(milliseconds: int | None) -> str | None:
    """Milliseconds since 1970 as ISO 8601 in UTC with `Z`; None stays None."""
    if milliseconds is None:
        return None
    return from_ms(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def local_midnight(days_ago: int) -> int:
    """When a day of the machine's own zone began, in milliseconds since 1970: 0 is today."""
    day = now().astimezone().date() - timedelta(days=days_ago)
    return to_ms(datetime(day.year, day.month, day.day).astimezone())


def local_day(milliseconds: int) -> str:
    """The day of the machine's own zone in which an instant falls: `2026-03-01`."""
    return from_ms(milliseconds).astimezone().date().isoformat()


def local_zone() -> str:
    """The name of the machine's zone, as in `Europe/Berlin`; where nobody knows it, what the zone is called now."""
    name = environ.get("TZ") or str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")[2]
    return name.removeprefix(":") or str(now().astimezone().tzname())


def from_iso(text: str) -> int:
    """The inverse of `iso`, for any ISO 8601 instant with an offset. Raises ValueError for what is none."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError("an instant without an offset")
    return to_ms(instant)


def monotonic() -> float:
    """Seconds on a clock that never jumps; only differences mean something."""
    return time.monotonic()
