"""The spool: the folder of one run, through which the gateway, the runner and whoever comes after them talk.

Owns the names, and what lies there before and after a run; does not start or end anything (`process.py`).
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from push.model.values import Exited
from push.paths import DIR_MODE, make_private, open_plain, open_private, sync_folder

#: Bytes that the disk must have free before a run: the usual cap of an agent's output.
FREE_BYTES = 64 * 1024 * 1024
#: Bytes kept for the result from before the run, so that a disk that fills up meanwhile cannot lose it.
RESULT_BYTES = 512
#: What may be asked of a run: each lies ready as a file with its own name in it, to be linked as `cancel`.
ASKED = ("cancelled", "terminated")

_ENDINGS = frozenset({"exited", "timed_out", "cancelled", "terminated", "output_limit", "not_started"})


@dataclass(frozen=True, slots=True)
class Spool:
    """The files of one run. `agent`, `runner` and `tree` name processes; `result` exists once the run is over."""

    dir: Path

    @classmethod
    def at(cls, root: Path, run_id: str) -> Spool:
        """The spool of `run_id` below `root`, whether or not it exists. Raises ValueError for an id that is no name."""
        if not re.fullmatch(r"\w[\w.-]*", run_id, re.ASCII):
            raise ValueError(f"not a run id: {run_id!r}")
        return cls(Path(os.path.realpath(root)) / run_id)

    @property
    def prompt(self) -> Path:
        """What the agent reads from standard input."""
        return self.dir / "prompt"

    @property
    def instructions(self) -> Path:
        """The instructions, for agents that take them from a file."""
        return self.dir / "instructions.md"

    @property
    def out(self) -> Path:
        """The agent's standard output."""
        return self.dir / "out"

    @property
    def err(self) -> Path:
        """The agent's standard error."""
        return self.dir / "err"

    @property
    def agent(self) -> Path:
        """Pid, start and boot of the agent, locked while it lives. Exists from before the agent's first instruction."""
        return self.dir / "agent"

    @property
    def runner(self) -> Path:
        """Pid, start and boot of the runner."""
        return self.dir / "runner"

    @property
    def tree(self) -> Path:
        """Pid and start of every process that the runner saw below itself."""
        return self.dir / "tree"

    @property
    def cancel(self) -> Path:
        """Exists when the run is to end; holds the ending, `cancelled` or `terminated`."""
        return self.dir / "cancel"

    @property
    def result(self) -> Path:
        """How the run ended. It appears whole, after the output is on disk."""
        return self.dir / "result.json"

    def proves_no_agent(self) -> bool:
        """Whether it is certain that there was no agent: not where one may not look, or the disk fails."""
        try:
            os.lstat(self.agent)
        except FileNotFoundError:
            return self.dir.is_dir()
        except OSError:
            return False
        return False


def prepare(root: Path, run_id: str, *, prompt: bytes, instructions: str, free_bytes: int = FREE_BYTES) -> Spool:
    """An empty spool with what the agent is to read, on disk as far as recovery needs it.

    Only the folder is synced: after a power loss the ledger writes the prompt anew, but the folder's absence must
    never be mistaken for a run that did not start. Raises OSError, with ENOSPC where fewer than `free_bytes` are free.
    """
    spool = Spool.at(root, run_id)
    make_private(root)
    room = os.statvfs(root)
    if room.f_bavail * room.f_frsize < free_bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(root))
    remove(spool)
    spool.dir.mkdir(mode=DIR_MODE)
    _write(spool.prompt, prompt)
    _write(spool.instructions, instructions.encode("utf-8", "replace"))
    _write(spool.dir / "result.tmp", b" " * RESULT_BYTES)
    for ending in ASKED:
        _write(spool.dir / ending, ending.encode())
    for folder in (spool.dir, root):
        sync_folder(folder)
    return spool


def remove(spool: Spool) -> None:
    """Delete the run's files. No error where there are none."""
    try:
        shutil.rmtree(spool.dir)
    except FileNotFoundError:
        return
    except NotADirectoryError:  # an agent put something else in its place
        spool.dir.unlink()


def write_result(spool: Spool, result: Exited) -> None:
    """Write how a run ended for whom the runner could not even be started."""
    fields = {"ending": result.ending, "code": result.code, "errno": result.errno}
    temporary = spool.dir / "result.tmp"
    fd = open_private(temporary, os.O_WRONLY | os.O_CREAT)
    try:
        os.write(fd, json.dumps(fields).encode().ljust(RESULT_BYTES))
        os.fsync(fd)
    finally:
        os.close(fd)
    temporary.rename(spool.result)
    sync_folder(spool.dir)


def read_result(spool: Spool) -> Exited | None:
    """How the run ended; None while it has not, and where the file is not a result."""
    try:
        with open_plain(spool.result) as file:
            fields = json.load(file)
        if fields["ending"] not in _ENDINGS:
            return None
        return Exited(
            ending=fields["ending"],
            code=fields["code"],
            errno=fields["errno"],
            stdout=spool.out,
            stderr=spool.err,
            truncated=fields.get("truncated", False),
            left=fields.get("left", 0),
            duration_ms=fields.get("duration_ms", 0),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(data)
