"""What a home holds back of the past, since when, and for how long: `push status` shows it beside what is open.

Owns putting it together, without counting rows; does not own erasing (`push.tasks.retention`). Instants are
milliseconds since 1970, limits seconds, None for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from push import audit, telemetry
from push.appendlog import Instant, instant_of_oldest, rotated
from push.config.settings import Retention
from push.ledger.retention import Kept as Texts
from push.paths import Home


@dataclass(frozen=True, slots=True)
class Kept:
    """`texts` is None where there is no ledger that can be read; the instants where there is no such file."""

    limits: Retention
    texts: Texts | None
    audit_since: int | None
    logs_since: int | None


def of(home: Home, limits: Retention, texts: Texts | None) -> Kept:
    """Look at the oldest line of each log."""
    logs = sorted(home.logs.glob("*.log")) if home.logs.is_dir() else []
    ages = [at for path in logs if (at := _since(path, telemetry.instant)) is not None]
    return Kept(limits, texts, _since(home.audit, audit.instant), min(ages, default=None))


def _since(path: Path, instant: Instant) -> int | None:
    """When the oldest line was written that is still in a log or one of its rotated files."""
    for file in (*reversed(rotated(path)), path):
        if (at := instant_of_oldest(file, instant)) is not None:
            return at
    return None
