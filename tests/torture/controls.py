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
_KILLS = replace(_QUIET, consumer_kills=5, every_seconds=2.0)
_LONG = replace(_KILLS, conversations=40, messages=2, long="*", pause=2.0)


@dataclass(frozen=True, slots=True)
class Control:
    """Without its guard, `plan` must show one of `faults`; with it, none of them."""

    plan: Plan
    faults: tuple[str, ...]


CONTROLS = {
    "recheck": Control(replace(_QUIET, conversations=150, messages=2, workers=8, spread_seconds=0.8), ("stranded",)),
    "copies": Control(replace(_QUIET, conversations=150, messages=2, workers=8, spread_seconds=0.8), ("stranded",)),
    "sweep": Control(replace(_KILLS, conversations=300, messages=1, every_seconds=1.0), ("stranded",)),
    "inheritance": Control(_LONG, ("rerun", "failed")),
    "evidence": Control(_LONG, ("overlapping",)),
    "harvest": Control(_LONG, ("rerun", "failed")),
    "unlock": Control(replace(_LONG, signal=signal.SIGTERM), ("rerun", "failed", "overlapping")),
    "order": Control(replace(_QUIET, conversations=20, messages=4), ("disordered",)),
    "mark": Control(replace(_QUIET, conversations=100, messages=2, screen_kills=12, every_seconds=1.0), ("repeated",)),
}
