"""How much is measured. Owns the numbers; `TINY` only shows that the harness works, its figures mean nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Counts, and seconds of idleness."""

    conversations: int
    messages_each: int
    storms: int
    history: tuple[int, int]
    blocks: int
    turns_per_block: int
    idle_seconds: float
    idle_messages: int
    starts: int
    commands: int
    latencies: int
    pause_seconds: float
    cancels: int
    workers: int
    controls: int


FULL = Size(
    conversations=50,
    messages_each=20,
    storms=3,
    history=(1_000, 1_000_000),
    blocks=24,
    turns_per_block=25,
    idle_seconds=60.0,
    idle_messages=50,
    starts=8,
    commands=20,
    latencies=60,
    pause_seconds=0.25,
    cancels=10,
    workers=16,
    controls=40,
)

TINY = Size(
    conversations=2,
    messages_each=2,
    storms=1,
    history=(50, 100),
    blocks=2,
    turns_per_block=2,
    idle_seconds=1.0,
    idle_messages=1,
    starts=1,
    commands=2,
    latencies=2,
    pause_seconds=0.01,
    cancels=1,
    workers=2,
    controls=2,
)
