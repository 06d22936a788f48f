"""A row: what was measured, its floor, its targets, and whether they hold.

Owns the words and the arithmetic; does not own any measuring.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JSON_VERSION = 1


@dataclass(frozen=True, slots=True)
class Limit:
    """A target: `measured[key]` is at most, or with `at_least` at least, `value`."""

    key: str
    value: float
    at_least: bool = False

    def holds(self, measured: Mapping[str, float]) -> bool:
        """Whether the figure is within the target."""
        figure = measured[self.key]
        return figure >= self.value if self.at_least else figure <= self.value


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. Figures are in the unit that the key's last word names, else milliseconds.

    `limits` of a row that is not `binding` are yardsticks: shown, but no reason to fail.
    """

    name: str
    what: str
    measured: Mapping[str, float] = field(default_factory=dict)
    floor: Mapping[str, float] = field(default_factory=dict)
    floor_what: str = ""
    limits: Sequence[Limit] = ()
    binding: bool = True
    note: str = ""
    failed: str = ""

    @property
    def missed(self) -> bool:
        """Whether this row makes the whole bench fail."""
        return bool(self.failed) or (self.binding and not self.within)

    @property
    def within(self) -> bool:
        """Whether every target or yardstick holds."""
        return not self.failed and all(limit.holds(self.measured) for limit in self.limits)

    @property
    def verdict(self) -> str:
        """One word."""
        if self.failed:
            return "FAILED"
        if not self.measured:
            return "later"
        if not self.limits:
            return "-"
        if self.binding:
            return "ok" if self.within else "MISSED"
        return "within" if self.within else "above"

    def lines(self) -> list[str]:
        """The row for a person: the verdict and what it is about, then the figures."""
        head = f"{self.verdict:<7} {self.name}: {self.what}"
        if self.failed:
            return [head, f"        {self.failed}"]
        if not self.measured:
            return [head]
        parts = [_figures(self.measured)]
        if self.floor:
            parts.append(f"floor {_figures(self.floor)} ({self.floor_what})")
        if self.limits:
            word = "target" if self.binding else "yardstick"
            parts.append(f"{word} {', '.join(_limit(limit) for limit in self.limits)}")
        return [head, *(f"        {part}" for part in parts), *([f"        {self.note}"] if self.note else [])]

    def as_json(self) -> dict[str, Any]:
        """The row for a program."""
        return {
            "name": self.name,
            "what": self.what,
            "verdict": self.verdict,
            "missed": self.missed,
            "binding": self.binding,
            "measured": dict(self.measured),
            "floor": dict(self.floor),
            "floor_what": self.floor_what,
            "targets": [
                {"key": limit.key, "at_least" if limit.at_least else "at_most": limit.value} for limit in self.limits
            ],
            "note": self.note,
            "failed": self.failed,
        }


def document(rows: Sequence[Row], machine: Mapping[str, object], seconds: float) -> str:
    """Everything as one JSON object."""
    content = {"version": JSON_VERSION, "machine": dict(machine), "seconds": round(seconds, 1)}
    return json.dumps(content | {"rows": [row.as_json() for row in rows]}, indent=2, ensure_ascii=False)


def spread(samples: Sequence[float], prefix: str = "") -> dict[str, float]:
    """Median and 95th percentile of some samples."""
    return {f"{prefix}p50": statistics.median(samples), f"{prefix}p95": percentile(samples, 0.95)}


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least `share` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def _figures(figures: Mapping[str, float]) -> str:
    return "  ".join(f"{key} {_number(value)}" for key, value in figures.items())


def _limit(limit: Limit) -> str:
    return f"{limit.key} {'≥' if limit.at_least else '≤'} {_number(limit.value)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
