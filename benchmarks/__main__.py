"""`python -m benchmarks [--only NAME] [--json FILE]`: print the rows; exit 1 when a target is missed."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import cancelling, commands, controlling, floors, history, idle, latency, start, telegram, throughput
from benchmarks.gateway import Broken
from benchmarks.rows import Row, document
from benchmarks.sizes import FULL, TINY, Size

MEASURES: dict[str, Callable[[Size], Iterator[Row]]] = {
    module.NAME: module.measure
    for module in (commands, start, latency, telegram, controlling, cancelling, throughput, history, idle)
}

LATER = (Row("imessage", "chat.db of 1,000,000 rows, a poll and 1,000 new rows: needs iMessage"),)


def main() -> int:
    """Measure, print each row when it is there, and say whether all targets hold."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what it started is ended, too
    size = TINY if options.tiny else FULL
    machine = _machine()
    print(", ".join(f"{name} {value}" for name, value in machine.items()), flush=True)
    began = time.monotonic()
    rows: list[Row] = []
    for name, measure in MEASURES.items():
        if options.only and name not in options.only:
            continue
        print(f"        … {name}", file=sys.stderr, flush=True)
        for row in _measured(name, measure, size):
            rows.append(row)
            print("\n".join(row.lines()), flush=True)
    if not options.only:
        rows += LATER
        print("\n".join(line for row in LATER for line in row.lines()))
    seconds = time.monotonic() - began
    missed = [row.name for row in rows if row.missed]
    print(f"{seconds:.0f} s. " + (f"Missed: {', '.join(missed)}." if missed else "Every target holds."))
    if options.json:
        options.json.write_text(document(rows, machine, seconds) + "\n")
    if options.tiny:
        return 1 if any(row.failed for row in rows) else 0
    return 1 if missed else 0


def _measured(name: str, measure: Callable[[Size], Iterator[Row]], size: Size) -> Iterator[Row]:
    """The rows of a measurement, or one that says why there are none."""
    try:
        yield from measure(size)
    except (Broken, OSError, sqlite3.Error) as exc:
        yield Row(name, "not measured", failed=f"{type(exc).__name__}: {exc}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=MEASURES, help="only this measurement (may be repeated)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything as JSON")
    parser.add_argument(
        "--tiny", action="store_true", help="only show that the harness works: the figures mean nothing"
    )
    return parser.parse_args()


def _machine() -> dict[str, object]:
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count() or 0,
        "load": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        "fsync": f"{floors.fsync():.2f} ms",
    }


if __name__ == "__main__":
    sys.exit(main())
