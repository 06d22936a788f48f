"""A private folder beside its destination, in which something is made before it appears there as a whole.

Owns that what a killed process left in it is cleared, and that two never work in one; does not own what is made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Self

from push.errors import ConflictError, TemporaryError
from push.paths import DIR_MODE, make_private, sync_folder

_TRIES = 10
_ROOM = 32 * 1024 * 1024  # bytes that are left to others


class Staging:
    """The folder `.NAME.partial` in `parent`: 0700, ours alone while we hold it, and gone afterwards."""

    def __init__(self, parent: Path, name: str) -> None:
        """Raises ConflictError where another process works in it, TemporaryError where it cannot be made."""
        self.path = parent / f".{name}.partial"
        make_private(parent)
        self._fd = self._taken()
        self.clear()

    def _taken(self) -> int:
        for _ in range(_TRIES):
            try:
                self.path.mkdir(mode=DIR_MODE, exist_ok=True)
                fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError as exc:
                raise TemporaryError(
                    f"cannot make {self.path}: {exc.strerror}",
                    why="what is made there moves to its place when it is whole",
                    hint=f"ls -ld {quote(str(self.path.parent))}",
                    code="staging",
                ) from exc
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(fd)
                raise self._busy("another process of Push works there") from None
            found = os.fstat(fd)
            if found.st_uid != os.geteuid():
                os.close(fd)
                raise self._busy("the folder is somebody else's")
            if self.path.exists() and self.path.stat().st_ino == found.st_ino:  # else its last holder removed it
                return fd
            os.close(fd)
        raise self._busy("other processes of Push work there")

    def _busy(self, why: str) -> ConflictError:
        return ConflictError(
            f"{self.path} is taken", why=why, hint=f"ls -ld {quote(str(self.path))}", code="staging_taken"
        )

    def clear(self) -> None:
        """Remove what is in it."""
        for entry in self.path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def become(self, target: Path) -> None:
        """Let the folder itself be `target`, which is absent or an empty folder. One step, on disk afterwards."""
        self.path.rename(target)
        sync_folder(target.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        shutil.rmtree(self.path, ignore_errors=True)  # nothing is there where it became its target
        os.close(self._fd)


def require_room(folder: Path, size: int) -> None:
    """Raise TemporaryError where the disk of `folder`, which is gone afterwards, does not take `size` more bytes."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < size + _ROOM:
        raise TemporaryError(
            f"there is no room in {folder.parent}: {size:,} bytes are needed, {free:,} are free",
            why="a disk that is full would stop the gateway",
            hint=f"df -h {quote(str(folder.parent))}",
            code="disk_full",
        )


def sync_files(folder: Path) -> None:
    """Let the files of a folder, and their names, be on disk."""
    for entry in folder.iterdir():
        if entry.is_file():
            sync_folder(entry)
    sync_folder(folder)
