"""What Push adds before and after an agent, on an idle system, one message at a time.

The agent is a shell that writes to a named pipe as its first and as its last act; this process takes the time when
it reads that, for Push and for the floor alike.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from benchmarks.gateway import PATIENCE_SECONDS, Broken, Home
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size

NAME = "latency"

_AGENT = """\
echo s >"$1"
read -r line
echo "answer to $line"
echo e >"$1"
"""


def measure(size: Size) -> Iterator[Row]:
    """One message through Push, one through an agent started directly, and so on."""
    ours: list[tuple[float, float]] = []
    direct: list[tuple[float, float]] = []
    with Bell() as bell, Home(["sh", "-c", _AGENT, "agent", str(bell.path)]) as home, home.run():
        chat = home.chat("ann")
        try:
            chat.ask("hello")
            bell.drain()
            for number in range(size.latencies):
                time.sleep(size.pause_seconds)
                direct.append(_direct(bell, number))
                time.sleep(size.pause_seconds)
                began = time.monotonic()
                chat.say(f"message {number}")
                started, ended, printed = bell.follow(chat.stdout.fileno())
                if (lines := chat.take_line()) != [f"answer to message {number}"]:
                    raise Broken(f"the terminal printed {lines}")
                ours.append((started - began, printed - ended))
        finally:
            chat.close()
    yield _row("in", "line written to the terminal → agent started, idle, ms", (ours, direct), 0, (35, 60))
    yield _row("out", "agent about to exit → reply read from the terminal, idle, ms", (ours, direct), 1, (15, 30))


def _row(
    name: str,
    what: str,
    samples: tuple[list[tuple[float, float]], list[tuple[float, float]]],
    which: int,
    yardsticks: tuple[float, float],
) -> Row:
    ours, direct = ([pair[which] * 1000 for pair in pairs] for pairs in samples)
    return Row(
        f"{NAME} {name}",
        what,
        measured=spread(ours),
        floor=spread(direct),
        floor_what="the same agent started directly",
        limits=(Limit("p50", yardsticks[0]), Limit("p95", yardsticks[1])),
        binding=False,
        note="the yardstick is DESIGN.md's target for Telegram",
    )


def _direct(bell: Bell, number: int) -> tuple[float, float]:
    began = time.monotonic()
    command = ["sh", "-c", _AGENT, "agent", str(bell.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"message %d\n" % number)
        process.stdin.close()
        started, ended, _ = bell.follow(process.stdout.fileno())
        process.stdout.read()
        process.wait()
        return started - began, time.monotonic() - ended


class Bell:
    """A named pipe on which agents say that they have started (`s`) and that they are about to end (`e`)."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="push-bench-"))
        self.path = self._folder / "bell"
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)  # never without a reader, nor at its end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
        self.path.unlink()
        self._folder.rmdir()

    def drain(self) -> None:
        """Forget what was said so far."""
        try:
            while os.read(self.fd, 4096):
                pass
        except BlockingIOError:
            return

    def follow(self, output: int) -> tuple[float, float, float]:
        """The instants at which the agent started, was about to end, and `output` became readable."""
        seen = self._seen(3, output)
        return seen["s"], seen["e"], seen["out"]

    def start_and_end(self) -> tuple[float, float]:
        """The instants at which the agent started, and was about to end."""
        seen = self._seen(2)
        return seen["s"], seen["e"]

    def _seen(self, count: int, *outputs: int) -> dict[str, float]:
        seen: dict[str, float] = {}
        with selectors.DefaultSelector() as selector:
            for fd in (self.fd, *outputs):
                selector.register(fd, selectors.EVENT_READ)
            while len(seen) < count:
                ready = selector.select(PATIENCE_SECONDS)
                now = time.monotonic()
                if not ready:
                    raise Broken(f"no sign of the agent for {PATIENCE_SECONDS:.0f} s")
                for key, _ in ready:
                    if key.fd != self.fd:
                        seen["out"] = now
                        selector.unregister(key.fd)
                        continue
                    for letter in os.read(self.fd, 4096).decode().split():
                        seen[letter] = now
        return seen
