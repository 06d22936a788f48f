"""A place where tests start real runners: spools, a conversation's lock, programs to run. For tests only."""

from __future__ import annotations

import os
import pickle
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from push.agents import process
from push.agents import spool as spooling
from push.agents.process import Launch, RunnerProcess
from push.agents.spool import Spool
from push.locks import FileLock
from push.model.values import Exited

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]

GRACE = 0.3  # seconds that the rig's agents get between SIGTERM and SIGKILL

#: A gateway of its own, for tests that kill it: starts the run, keeps the lock, follows the runner.
_GATEWAY = """
import pickle, sys
from push.agents import process
from push.locks import FileLock
spool, launch, lock = pickle.load(sys.stdin.buffer)
process.start(spool, launch, FileLock.take(lock).fd).wait(None)
"""

#: A tree that ignores SIGTERM: child, grandchild, and daemons that left the agent's group, session, parents and
#: environment. {0} is a sleep that can be told from all others.
STUBBORN = """
trap '' TERM HUP
{0} &
(( {0} & {0} ) & wait) &
setsid -f {0}
(setsid sh -c '{0} & {0} &' &)
env -i setsid -f {0}
echo ready
{0}
"""
STUBBORN_SIZE = 8  # sleeps


def until(look: Callable[[], T | None], seconds: float = 10.0) -> T:
    """The first true answer of `look`; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.005)


def python(code: str) -> tuple[str, ...]:
    """An agent written in Python."""
    return (sys.executable, "-c", code)


@dataclass(slots=True)
class Rig:
    """`begin` starts a run, `finish` also waits for its end. The lock of the one conversation is held meanwhile."""

    folder: Path
    token: str = field(default_factory=lambda: str(secrets.randbelow(10**12)))
    lock: FileLock | None = None
    free_bytes: int = spooling.FREE_BYTES

    @property
    def root(self) -> Path:
        return self.folder / "spool"

    @property
    def spool(self) -> Spool:
        return Spool.at(self.root, "t1-1")

    @property
    def sleep(self) -> str:
        """A command that sleeps for ten minutes and that `living` finds, whatever it did to its environment."""
        return f"sleep 600.{self.token}"

    def living(self) -> list[int]:
        """The pids of the sleeps that live."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if path.read_bytes().startswith(b"sleep\0" + f"600.{self.token}".encode()):
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def end_leftovers(self, count: int = 0) -> None:
        """Kill the sleeps that live, once there are `count`: a shell's child may still be on its way to become one."""
        until(lambda: len(self.living()) >= count)
        for pid in self.living():
            os.kill(pid, signal.SIGKILL)
        until(lambda: not self.living())

    def prepare(self, prompt: bytes = b"hello\n") -> Spool:
        return spooling.prepare(
            self.root, "t1-1", prompt=prompt, instructions="You are SOUL.", free_bytes=self.free_bytes
        )

    def launch(self, *argv: str, **changes: Any) -> Launch:
        fields: dict[str, Any] = {
            "env": dict(os.environ),
            "cwd": self.folder,
            "deadline_seconds": 30.0,
            "grace_seconds": GRACE,
            "output_cap": 64 << 20,
        }
        return Launch(argv=argv, **(fields | changes))

    def take_lock(self, seconds: float = 0.0) -> FileLock | None:
        """A fresh try for the conversation's lock."""
        return FileLock.take(self.folder / "conversation.lock", wait_seconds=seconds)

    def begin(self, *argv: str, prompt: bytes = b"hello\n", **changes: Any) -> RunnerProcess:
        self.prepare(prompt)
        self.lock = self.take_lock()
        assert self.lock is not None
        return process.start(self.spool, self.launch(*argv, **changes), self.lock.fd)

    def finish(self, *argv: str, **changes: Any) -> Exited:
        return self.end(self.begin(*argv, **changes))

    def end(self, runner: RunnerProcess) -> Exited:
        """The result, once the runner is gone; the lock is given up."""
        assert runner.wait(None)
        self.give_up_lock()
        exited = spooling.read_result(self.spool)
        assert exited is not None, self.spool.err.read_text()
        return exited

    def give_up_lock(self) -> None:
        assert self.lock is not None
        self.lock.close()

    def begin_elsewhere(self, *argv: str, **changes: Any) -> subprocess.Popen[bytes]:
        """The same in a gateway process of its own."""
        self.prepare()
        gateway = subprocess.Popen([sys.executable, "-c", _GATEWAY], stdin=subprocess.PIPE, cwd=ROOT)
        assert gateway.stdin
        gateway.stdin.write(
            pickle.dumps((self.spool, self.launch(*argv, **changes), self.folder / "conversation.lock"))
        )
        gateway.stdin.close()
        return gateway

    def output(self) -> bytes:
        return self.spool.out.read_bytes() if self.spool.out.exists() else b""

    def ready(self) -> None:
        """Wait until the agent said `ready`."""
        until(lambda: b"ready" in self.output())

    def runner_pid(self) -> int:
        return until(lambda: process.living_runner(self.spool))

    def agent_pid(self) -> int:
        until(self.spool.agent.exists)
        return int(until(self.spool.agent.read_text).split()[0])


@contextmanager
def a_rig(folder: Path) -> Iterator[Rig]:
    """A rig; when it ends, no sleep of it may live."""
    rig = Rig(folder)
    yield rig
    left = rig.living()
    rig.end_leftovers()
    if rig.lock is not None:
        rig.lock.close()
    assert not left, "sleeps left behind"


def is_dead(pid: int) -> bool:
    """Gone, or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
