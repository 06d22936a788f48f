"""Asking the processes of a home to read their configuration anew, and what came of it in each.

Owns the wish and the waiting for answers; does not own carrying it out (`push.app.reloading`). The wish is a datagram
to whoever lives and listens, the answer stands in a role that is held: no process is found, or signalled, by its pid.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from push import clock
from push.tasks import roles, wake
from push.tasks.roles import Holder, Reading

#: The name under which a process listens for the wish.
NAME = "reload"

PATIENCE_SECONDS = 20.0  # a service that does not say who we are is waited for ten
_LOOK_SECONDS = 0.05
_GONE_LOOKS = 10  # a role's file is unreadable for the moment in which it is written


class Outcome(enum.Enum):
    """What became of the wish in one process."""

    TAKEN = "taken"
    KEPT = "kept"  # the settings in effect stay, for the reason in its reading
    UNANSWERED = "unanswered"
    ENDED = "ended"
    NOT_ASKED = "not_asked"  # it reads its configuration at the start only: a terminal, `--drain`


@dataclass(frozen=True, slots=True)
class Answer:
    """One process. `reading` is how it stands to its configuration, None where it does not reload."""

    pid: int
    command: str
    roles: tuple[str, ...]
    outcome: Outcome
    reading: Reading | None


def ask(run_dirs: Iterable[Path], tick: Callable[[], None], seconds: float = PATIENCE_SECONDS) -> list[Answer]:
    """Ask every living process, and wait up to `seconds` for what comes of it. `tick` is called while we wait."""
    folders = tuple(run_dirs)
    asked = _processes(folders)
    for folder in folders:
        wake.ring(folder, NAME)
    # A reading that begins from now on sees what is on disk now; one that is under way may not.
    goals = {pid: holder.reading.begun + 1 for pid, (holder, _) in asked.items() if holder.reading is not None}
    deadline = clock.monotonic() + seconds
    found, missing = asked, dict.fromkeys(goals, 0)
    while clock.monotonic() < deadline:
        now = _processes(folders)
        found = {pid: now.get(pid, was) for pid, was in found.items()}
        missing = {pid: 0 if pid in now else count + 1 for pid, count in missing.items()}
        if all(missing[pid] >= _GONE_LOOKS or _is_through(found[pid][0], goal) for pid, goal in goals.items()):
            break
        tick()
        time.sleep(_LOOK_SECONDS)
    return [
        Answer(pid, holder.command, held, _outcome(holder, goals.get(pid), missing.get(pid, 0)), holder.reading)
        for pid, (holder, held) in found.items()
    ]


def _processes(folders: tuple[Path, ...]) -> dict[int, tuple[Holder, tuple[str, ...]]]:
    """By pid: the role in which the process tells of its configuration, else the first one; and all its roles."""
    found: dict[int, list[Holder]] = {}
    for folder in folders:
        for holder in roles.living(folder):
            found.setdefault(holder.pid, []).append(holder)
    return {
        pid: (
            next((holder for holder in holders if holder.reading is not None), holders[0]),
            tuple(holder.role for holder in holders),
        )
        for pid, holders in found.items()
    }


def _is_through(holder: Holder, goal: int) -> bool:
    return holder.reading is not None and holder.reading.ended >= goal


def _outcome(holder: Holder, goal: int | None, missing: int) -> Outcome:
    if goal is None or holder.reading is None:
        return Outcome.NOT_ASKED
    if not _is_through(holder, goal):
        return Outcome.ENDED if missing else Outcome.UNANSWERED
    return Outcome.KEPT if holder.reading.refused else Outcome.TAKEN
