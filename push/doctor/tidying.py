"""What holds the disk, and making room: only of what is ours and needed by nobody.

Owns the words for it; does not own what may be removed (`push.tasks.retention`).
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from push.config.settings import Settings
from push.errors import PushError, TemporaryError
from push.ledger.database import Database
from push.paths import Home
from push.tasks import roles

_MIB = 1024**2


def kept(there: Path, root: Path) -> str:
    """How much of the disk at `there` is ours, which of our files is the largest, and how much is others'."""
    disk = os.statvfs(there)
    sizes = _sizes(root)
    ours = sum(sizes.values())
    others = max((disk.f_blocks - disk.f_bfree) * disk.f_frsize - ours, 0)
    if not sizes:
        return f"others hold {others // _MIB} MiB"
    largest = max(sizes, key=sizes.__getitem__)
    return (
        f"Push holds {ours // _MIB} MiB, the most in {largest} ({sizes[largest] // _MIB} MiB), "
        f"others {others // _MIB} MiB"
    )


def _sizes(root: Path) -> dict[Path, int]:
    """Every file below `root` -> bytes that it takes on the disk."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            try:
                found[path] = path.lstat().st_blocks * 512
            except OSError:
                continue  # gone meanwhile
    return found


def make_room(settings: Settings, wanted: int) -> str:
    """Remove what nobody needs. Raises TemporaryError where `wanted` bytes are still not free."""
    from push.tasks import retention

    root = settings.home.root
    done = _a_beginning(settings.home) + retention.tidy(settings.home, settings.retention)
    disk = os.statvfs(root)
    free = disk.f_bavail * disk.f_frsize
    said = "; ".join(done) or "there was nothing of ours to remove"
    if free < wanted:
        raise TemporaryError(
            f"{said}; {free // _MIB} MiB are free",
            why="what is left belongs to other programs, or is to be kept",
            hint=f"df -h {shlex.quote(str(root))}",
            code="disk_full",
        )
    return f"{said}; {free // _MIB} MiB are free at {root}"


def _a_beginning(home: Home) -> list[str]:
    """The ledger says what may go, and on a disk that is full to the last byte even a look at it needs some.

    queue.db holds nothing that matters and is made anew; beside a living process it is left alone.
    """
    try:
        db = Database.open_existing(home.push_db)
    except PushError as exc:
        if exc.code not in {"disk_full", "disk_failing"} or roles.living(home.run):
            return []
    else:
        if db is not None:
            db.close()
        return []
    home.queue_db.unlink(missing_ok=True)
    return [f"removed {home.queue_db.name}, which is made anew"]
