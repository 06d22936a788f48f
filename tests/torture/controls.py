"""The negative controls: for each guard, the smallest run that fails without it, and what it fails by.

Few messages for each conversation: with long backlogs, later bells heal what earlier ones lost, and nothing fails.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace

from tests.torture.scene import Plan

_QUIET = Plan(
    0, consumer_kills=0, runner_kills=0, feeder_kills=0, screen_kills=0, queue_losses=0, long="none", quiet_seconds=6
)
_LONG = replace(_QUIET, conversations=20, messages=2, consumer_kills=2, long="*", calm=True)


@dataclass(frozen=True, slots=True)
class Control:
    """Without its guard, `plan` must show one of `faults`; with it, none of them."""

    plan: Plan
    faults: tuple[str, ...]


_PAIRS = replace(_QUIET, conversations=150, messages=2, workers=8, spread_seconds=0.8)
_SINGLE = replace(_QUIET, conversations=300, messages=1, consumer_kills=5, every_seconds=1.0)
_FEW = replace(_QUIET, conversations=20, messages=2)

CONTROLS = {
    "recheck": Control(_PAIRS, ("stranded",)),
    "copies": Control(_PAIRS, ("stranded",)),
    "sweep": Control(_SINGLE, ("stranded",)),
    "inheritance": Control(_LONG, ("rerun",)),
    "evidence": Control(_LONG, ("overlapping",)),
    "harvest": Control(_LONG, ("rerun",)),
    "unlock": Control(replace(_LONG, signal=signal.SIGTERM), ("rerun",)),
    "order": Control(replace(_FEW, messages=4), ("disordered",)),
    "mark": Control(replace(_FEW, screen_seams="delivery.part_sent=kill@3"), ("repeated",)),
}
