"""From starting `push run` to its being ready, and to the answer of a message that waited. Owns both rows."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks import floors
from benchmarks.gateway import PATIENCE_SECONDS, Broken, Home, Run
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size

NAME = "start"


def measure(size: Size) -> Iterator[Row]:
    """Each time: a message is committed by a terminal that does not wait; then the gateway starts."""
    ready, answered, stopped, floor = [], [], [], []
    with Home(["cat"]) as home:
        for number in range(size.starts + 1):
            turn = int(home.push("chat", "--user", "ann", "--no-wait", f"message {number}"))
            floor.append(floors.libraries())
            run = Run(home)
            try:
                at = _answered_at(home.push_db, turn)
                run.wait_ready()
            finally:
                began = time.monotonic()
                run.stop()
            ready.append((run.ready - run.started) * 1000)
            answered.append((at - run.started) * 1000)
            stopped.append((time.monotonic() - began) * 1000)
    note = f"stopping it took p50 {spread(stopped)['p50']:.0f} ms"
    for name, what, samples, limit in (
        ("ready", "`push run`, from start to ready, ms", ready, 1000),
        ("answer", "`push run`, from start to the committed answer of a message that waited, ms", answered, 1500),
    ):
        yield Row(
            f"{NAME} {name}",
            what,
            measured=spread(samples[1:]),  # the first start warms
            floor=spread(floor[1:]),
            floor_what=f"a Python that only imports {floors.LIBRARIES}",
            limits=(Limit("p50", limit),),
            note=note if name == "ready" else "",
        )


def _answered_at(push_db: Path, turn: int) -> float:
    """The instant (monotonic seconds) at which the turn's answer is in the ledger, looked for each 2 ms."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with closing(sqlite3.connect(f"file:{push_db}?mode=ro", uri=True)) as ledger:
        while time.monotonic() < deadline:
            if ledger.execute("SELECT 1 FROM outbound WHERE turn_id = ?", (turn,)).fetchone():
                return time.monotonic()
            time.sleep(0.002)
    raise Broken(f"turn {turn} was not answered")
