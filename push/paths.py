"""Where things live under `PUSH_HOME`, with their permissions (folders 0700, files 0600).

Owns names and modes; does not own what is in the files.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from push import environ
from push.errors import ConfigError, ConflictError, TemporaryError

DIR_MODE = 0o700
FILE_MODE = 0o600


def default_home() -> Path:
    """`$PUSH_HOME`, else `~/.push`; absolute, not resolved. Raises ConfigError where nobody knows what `~` is."""
    try:
        return Path(environ.get("PUSH_HOME") or "~/.push").expanduser().absolute()
    except RuntimeError:  # no HOME, and no entry for us in the list of users
        raise ConfigError(
            "your home folder is not known",
            why="neither PUSH_HOME nor HOME is set",
            hint='export PUSH_HOME="$PWD/.push"',
            code="home_unknown",
        ) from None


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one gateway. The configuration may move single files of it (`push.config`)."""

    root: Path
    push_db: Path
    queue_db: Path
    state: Path
    audit: Path
    spool: Path
    run: Path
    drafts: Path
    media: Path
    vault: Path
    logs: Path

    @classmethod
    def at(cls, root: Path) -> Home:
        """The default layout below `root`."""
        return cls(
            root=root,
            push_db=root / "push.db",
            queue_db=root / "queue.db",
            state=root / "state.json",
            audit=root / "audit.jsonl",
            spool=root / "spool",
            run=root / "run",
            drafts=root / "drafts",
            media=root / "media",
            vault=root / "vault",
            logs=root / "logs",
        )

    def make(self) -> None:
        """Create the folders that a running gateway needs.

        Raises TemporaryError where it cannot, ConflictError where the home is somebody else's: what we would write
        there could not be read by its owner.
        """
        if self.root.exists() and self.root.stat().st_uid != os.geteuid():
            raise ConflictError(
                f"{self.root} belongs to another user (uid {self.root.stat().st_uid})",
                why="what this user writes there, its owner could not use any more",
                hint='export PUSH_HOME="$HOME/.push-$(id -un)"',
                code="home_of_another",
            )
        for folder in (self.root, self.spool, self.run, self.logs):
            make_private(folder)
        for file in (self.push_db, self.queue_db, self.state, self.audit):
            make_private(file.parent)


def make_private(folder: Path) -> None:
    """Create `folder` with mode 0700 (parents too); an existing one is left as it is."""
    try:
        missing = [p for p in (folder, *folder.parents) if not p.exists()]
        for path in reversed(missing):
            path.mkdir(mode=DIR_MODE, exist_ok=True)
    except OSError as exc:
        raise TemporaryError(
            f"cannot create {folder}: {exc.strerror}",
            why="Push keeps its state there",
            hint=way_in(folder, exc),
            code="home_not_writable",
        ) from exc


def open_private(path: Path, flags: int) -> int:
    """`os.open` for one of our files: close-on-exec, mode 0600 where it is created. Returns the descriptor."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder be on disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


#: What opening says of a name that somebody made unreadable for good; anything else may be over in a moment.
_SPOILED = frozenset({errno.EACCES, errno.ELOOP, errno.ENOTDIR})


def open_plain(path: Path) -> BinaryIO:
    """Open for reading a file that an agent may have spoiled. Waits for nothing.

    Raises FileNotFoundError where there is no regular file (but a folder, a FIFO, a link) or it may not be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as exc:
        if exc.errno not in _SPOILED:
            raise
    else:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return os.fdopen(fd, "rb")
        os.close(fd)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def way_in(path: Path, exc: OSError) -> str:
    """The next command where `path` cannot be read or written: make room, open what is ours, show whose it is."""
    there = next(found for found in (path, *path.parents) if os.path.lexists(found))
    closed = there.parent if os.access(there, os.R_OK | os.W_OK) else there
    if exc.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "push doctor --fix"
    if exc.errno == errno.EACCES and closed.exists() and closed.stat().st_uid == os.geteuid():
        return f"chmod u+rwX {shlex.quote(str(closed))}"
    return f"ls -ld {shlex.quote(str(there))}"
