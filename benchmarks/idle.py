"""What `push run` costs while nothing happens. Needs /proc (Linux)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

from benchmarks import floors, proc
from benchmarks.gateway import PYTHON, Home
from benchmarks.rows import Limit, Row
from benchmarks.sizes import Size

NAME = "idle"


def measure(size: Size) -> Iterator[Row]:
    """Some messages first, so that it has worked; then a pause, then the clock."""
    with Home(["cat"]) as home, home.run() as run:
        chat = home.chat("ann")
        for number in range(size.idle_messages):
            chat.ask(f"message {number}")
        chat.close()
        time.sleep(size.idle_seconds / 20)
        pid = run.process.pid
        memory, seconds, switches = proc.rss_megabytes(pid), proc.running_seconds(pid), proc.context_switches(pid)
        began = time.monotonic()
        time.sleep(size.idle_seconds)
        elapsed = time.monotonic() - began
        used = proc.running_seconds(pid) - seconds
        switched = proc.context_switches(pid) - switches
        growth = proc.rss_megabytes(pid) - memory
        after = proc.pss_megabytes(pid)
    yield Row(
        NAME,
        f"`push run` for {elapsed:.0f} s without a message, after {size.idle_messages}; its channel is the terminal",
        measured={
            "% of a core": 100 * used / elapsed,
            "PSS MB": after,
            "RSS growth MB": growth,
            "context switches/s": switched / elapsed,
        },
        floor={"PSS MB": _libraries_megabytes()},
        floor_what=f"a Python that only imported {floors.LIBRARIES}",
        limits=(Limit("% of a core", 0.1), Limit("PSS MB", 70), Limit("RSS growth MB", 0.5)),
    )


def _libraries_megabytes() -> float:
    code = f"import {floors.LIBRARIES}\nimport sys\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen([PYTHON, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return proc.pss_megabytes(process.pid)
