"""Durations as people write them: "10m", "1h 30m", "500ms".

Owns the notation (the one of the earlier implementation, plus decimals); does not own which duration is allowed where.
"""

from __future__ import annotations

import re

_UNITS = {
    1e-9: "ns nsec",
    1e-6: "us usec µs",
    1e-3: "ms msec millis",
    1.0: "s sec secs second seconds",
    60.0: "m min mins minute minutes",
    3600.0: "h hr hrs hour hours",
    86_400.0: "d day days",
    604_800.0: "w wk wks week weeks",
    2_630_016.0: "M month months",
    31_557_600.0: "y yr yrs year years",
}
_SECONDS = {name: seconds for seconds, names in _UNITS.items() for name in names.split()}
_PART = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([A-Za-zµ]+)\s*")


def parse_duration(text: str) -> float | None:
    """The seconds that `text` stands for; None where it is no duration. `M` is a month, `m` a minute."""
    total, end = 0.0, 0
    while end < len(text):
        part = _PART.match(text, end)
        if part is None or part[2] not in _SECONDS:
            return None
        total += float(part[1]) * _SECONDS[part[2]]
        end = part.end()
    return total if end else None


def format_duration(seconds: float) -> str:
    """Whole units, largest first: 5400 is "1h 30m"; below a second, milliseconds."""
    parts, rest = [], round(seconds * 1000)
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"
