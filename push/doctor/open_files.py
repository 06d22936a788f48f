"""Who has a file open, as far as this user may see. Does not own what that means."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from push import programs
from push.programs import Completed

_PROC = Path("/proc")
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, and the beginning of its command line."""

    pid: int
    command: str


def named(holders: Sequence[Holder]) -> str:
    """For a sentence; words for nobody known where there are none."""
    return ", ".join(f"process {one.pid} ({one.command})" for one in holders) or "a process that is not ours to see"


def holders(path: Path) -> list[Holder]:
    """Every other process that has `path` open."""
    if not _PROC.is_dir():
        return _of_lsof(path)
    wanted = os.path.realpath(path)
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _has_open(folder, wanted):
            words = (folder / "cmdline").read_bytes().split(b"\0") if (folder / "cmdline").exists() else []
            found.append(Holder(int(folder.name), b" ".join(words).decode(errors="replace").strip()[:80]))
    return sorted(found, key=lambda one: one.pid)


def _has_open(folder: Path, wanted: str) -> bool:
    try:
        return any(str(link.readlink()) == wanted for link in (folder / "fd").iterdir())
    except OSError:  # ended meanwhile, or another user's
        return False


def _of_lsof(path: Path) -> list[Holder]:
    done = programs.run(["lsof", "-F", "pc", "--", str(path)], seconds=_SECONDS)
    found: list[Holder] = []
    pid = 0
    for line in done.out.splitlines() if isinstance(done, Completed) else []:
        if line.startswith("p"):
            pid = int(line[1:])
        elif line.startswith("c") and pid != os.getpid():
            found.append(Holder(pid, line[1:]))
    return found
