"""How long a cancelled agent lives on while every worker waits for an agent. Needs pidfds (Linux)."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks.gateway import BARE, PATIENCE_SECONDS, Broken, Home
from benchmarks.latency import Bell
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size

NAME = "cancel"

_AGENT = 'read -r line; echo "$$ $line" >"$1"; exec sleep 600'


def measure(size: Size) -> Iterator[Row]:
    """More conversations than workers, so that a freed worker takes the next one and all stay busy."""
    ours, told, floor, refilled = [], [], [], []
    agent, keys = ["sh", "-c", _AGENT, "agent"], (f"turns_workers = {size.workers}", 'shutdown = "stop"')
    with Bell() as bell, Home([*agent, str(bell.path)], *keys) as home, home.run():
        users = [f"u{number}" for number in range(size.workers + size.cancels)]
        with ThreadPoolExecutor(2) as pool:
            turns = dict(
                zip(users, pool.map(lambda user: int(home.push("chat", "--user", user, "--no-wait", user)), users),
                    strict=True)
            )  # fmt: skip
        sleepers = Sleepers(bell)
        sleepers.wait_for(size.workers)
        for _ in range(size.cancels):
            floor.append(_floor())
            user, pid = sleepers.oldest()
            agent_fd = os.pidfd_open(pid)
            began = time.monotonic()
            command = home.start("turns", "cancel", str(turns[user]), stdout=subprocess.DEVNULL)
            _wait_gone(agent_fd, command)
            ours.append((time.monotonic() - began) * 1000)
            command.wait()
            told.append((time.monotonic() - began) * 1000)
            os.close(agent_fd)
            sleepers.wait_for(size.workers)
            refilled.append((time.monotonic() - began) * 1000)
    yield Row(
        NAME,
        f"`push turns cancel`, from its start until the agent is gone, {size.workers} workers waiting for agents, ms",
        measured=spread(ours),
        floor=spread(floor),
        floor_what="python -I -S that kills a process",
        limits=(Limit("p95", 1000),),
        binding=False,
        note=f"the command had ended after p50 {spread(told)['p50']:.0f} ms; the next conversation's agent had started "
        f"after p50 {spread(refilled)['p50']:.0f} ms",
    )


class Sleepers:
    """The agents that sleep now, told by the bell."""

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._living: dict[str, int] = {}

    def wait_for(self, count: int) -> None:
        """Wait until so many sleep."""
        while len(self._living) < count:
            if not select.select([self._bell.fd], (), (), PATIENCE_SECONDS)[0]:
                raise Broken(f"only {len(self._living)} of {count} agents run")
            for line in os.read(self._bell.fd, 4096).decode().splitlines():
                pid, user = line.split()
                self._living[user] = int(pid)

    def oldest(self) -> tuple[str, int]:
        """Take out the one that has slept longest: its user and its process."""
        user = next(iter(self._living))
        return user, self._living.pop(user)


def _floor() -> float:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        fd = os.pidfd_open(sleeper.pid)
        began = time.monotonic()
        with subprocess.Popen([*BARE, "-c", f"import os; os.kill({sleeper.pid}, 15)"]) as killer:
            _wait_gone(fd, killer)
            elapsed = time.monotonic() - began
        os.close(fd)
    return elapsed * 1000


def _wait_gone(pidfd: int, command: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not select.select([pidfd], (), (), 0.5)[0]:
        if command.poll() or time.monotonic() > deadline:
            raise Broken(f"the agent lives on; the command's exit code is {command.poll()}")
