"""How long a person waits for `push --version` and `push status`."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks import floors
from benchmarks.gateway import Home
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size

NAME = "commands"


def measure(size: Size) -> Iterator[Row]:
    """Each command and the floor in turn, beside an idle gateway."""
    with Home(["cat"]) as home, home.run():
        chat = home.chat("ann")
        chat.ask("hello")
        chat.close()
        for command, limit in (("--version", 120), ("status", 300)):
            ours, floor = [], []
            for _ in range(size.commands + 1):
                floor.append(floors.bare_python())
                began = time.monotonic()
                home.push(command)
                ours.append((time.monotonic() - began) * 1000)
            yield Row(
                f"{NAME} {command}",
                f"`push {command}`, from start to end, ms",
                measured=spread(ours[1:]),  # the first round warms
                floor=spread(floor[1:]),
                floor_what="python -I -S -c pass",
                limits=(Limit("p50", limit),),
            )
