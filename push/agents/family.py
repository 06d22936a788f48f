"""The processes of one run as its runner sees them: the agent, what it started, and orphans that came back.

Does not own when they are to end (`runner.py`, which alone imports this, and as lean as it).
"""

import os
import sys

from push.agents import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
else:
    import _signal

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


class Family:
    """All that came from the agent. `status` is the agent's wait status once it has ended."""

    def __init__(self, record_path: str) -> None:
        self.agent = 0
        self.status: int | None = None
        self.table = tree.system()
        self._record_path = record_path
        self._pid = os.getpid()
        self._seen: dict[int, str] = {}
        self._prctl = _prctl()
        self._adopts = False  # whether orphans come back to us
        self._childless = False

    def adopt_orphans(self) -> None:
        """Become the parent of every process below us whose own parent ends (Linux)."""
        self._adopts = self._prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0

    def die_with_runner(self) -> None:
        """In the agent: SIGKILL when the runner dies (Linux)."""
        self._prctl(PR_SET_PDEATHSIG, _signal.SIGKILL, 0, 0, 0)

    def reap(self) -> bool:
        """Collect the children that ended, adopted ones too. Returns whether the agent has ended."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self.agent:
                    self.status = status
                if not pid:
                    break
        except ChildProcessError:
            self._childless = True
        return self.status is not None

    def see(self) -> None:
        """Remember who is below us, also for whoever cleans up when we are killed."""
        now = self.table.descendants(self._pid)
        new = {pid: start for pid, start in now.items() if self._seen.get(pid) != start}
        if not new:
            return
        self._seen.update(new)
        try:
            fd = os.open(self._record_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(fd, b"".join(b"%d %s\n" % (pid, start.encode()) for pid, start in new.items()))
            os.close(fd)
        except OSError:
            return  # a full disk: what is left is the mark in their environment

    def living(self) -> set[int]:
        """Who of the run lives. Adopted, all are below us; without adoption some may have gone elsewhere."""
        pids = set(self.table.descendants(self._pid))
        if not self._adopts:
            for pid, row in self.table.table().items():
                if self._seen.get(pid) == row.start or (pid != self._pid and _ask(os.getsid, pid) == self._pid):
                    pids.add(pid)
        return pids

    def is_gone(self) -> bool:
        """Whether nothing of the run lives."""
        ended = self.reap()
        return self._childless if self._adopts else ended and not self.living()

    def signal(self, number: int) -> None:
        """Signal all of the run, each once: a second SIGTERM tells many programs to leave their work undone."""
        self.see()
        together = self.status is None  # the agent is not reaped, so the group's number is still its own
        if together:
            _kill(-self.agent, number)
        for pid in self.living():
            if not together or _ask(os.getpgid, pid) != self.agent:
                _kill(pid, number)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:  # gone, or not ours to kill
        return


def _ask(question: "Callable[[int], int]", pid: int) -> int:
    try:
        return question(pid)
    except OSError:  # gone
        return -1


def _prctl() -> "Callable[..., int]":
    """Linux's prctl(2), without the price of importing ctypes; elsewhere, a function that says no."""
    if sys.platform != "linux":
        return lambda *_: -1
    try:
        import _ctypes
    except ImportError:  # a Python built without it
        return lambda *_: -1

    class Int(_ctypes._SimpleCData):  # type: ignore[type-arg] # noqa: SLF001 - as ctypes.c_int
        _type_ = "i"

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL
        _restype_ = Int

    return Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"))  # type: ignore[arg-type]
