"""What Linux tells about a process: CPU time, memory, context switches. Does not own what is made of it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gateway import Broken

_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds of a process, and of those of its children that it has reaped."""

    own: float
    children: float


def cpu(pid: int) -> Cpu:
    """User and system time, to 10 ms. Raises Broken where there is no /proc."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    user, system, children_user, children_system = (int(value) for value in fields[11:15])
    return Cpu((user + system) * _TICK_SECONDS, (children_user + children_system) * _TICK_SECONDS)


def running_seconds(pid: int) -> float:
    """CPU seconds of the threads that live now, to the microsecond, where the kernel counts them; else as `cpu`."""
    try:
        nanoseconds = [int(_read(task / "schedstat").split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()]
    except (Broken, OSError):
        return cpu(pid).own
    return sum(nanoseconds) / 1e9


def pss_megabytes(pid: int) -> float:
    """Memory; pages that it shares are divided among all who share them, so other processes change it too."""
    return _megabytes(pid, "Pss")


def rss_megabytes(pid: int) -> float:
    """Memory with all that it shares."""
    return _megabytes(pid, "Rss")


def _megabytes(pid: int, name: str) -> float:
    for line in _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise Broken(f"no {name} in smaps_rollup")


def context_switches(pid: int) -> int:
    """Voluntary and involuntary ones, of all threads."""
    count = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(Broken):
            lines = _read(task / "status").splitlines()
            count += sum(int(line.split()[1]) for line in lines if "ctxt_switches:" in line)
    return count


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as exc:
        raise Broken(f"cannot read {path}: {exc.strerror}") from exc
