"""What `push run` costs while nothing happens. Needs /proc (Linux)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator

from benchmarks import floors, proc
from benchmarks.gateway import PYTHON, Home
from benchmarks.rows import Limit, Row
from benchmarks.sizes import Size
from benchmarks.telegram import FIRST_USER, asked, telegram_home
from tests.telegram.remote import separate

NAME = "idle"


def measure(size: Size) -> Iterator[Row]:
    """With the terminal alone, then with Telegram, too: some messages first, so that it has worked; then the clock."""
    with Home(["cat"]) as home:
        yield _row(NAME, "its channel is the terminal", home, size, lambda: None)
    with separate() as telegram, telegram_home(["cat"], telegram, 1, channels=("local", "telegram")) as home:

        def over_telegram() -> None:
            telegram.say(FIRST_USER, "hello")
            asked(telegram, "sendMessage", FIRST_USER)

        yield _row(f"{NAME} telegram", "its channels are the terminal and Telegram", home, size, over_telegram)


def _row(name: str, channels: str, home: Home, size: Size, work: Callable[[], None]) -> Row:
    with home.run() as run:
        chat = home.chat("ann")
        for number in range(size.idle_messages):
            chat.ask(f"message {number}")
        chat.close()
        work()
        time.sleep(size.idle_seconds / 20)
        pid = run.process.pid
        memory, seconds, switches = proc.rss_megabytes(pid), proc.running_seconds(pid), proc.context_switches(pid)
        began = time.monotonic()
        time.sleep(size.idle_seconds)
        elapsed = time.monotonic() - began
        used = proc.running_seconds(pid) - seconds
        switched = proc.context_switches(pid) - switches
        growth = proc.rss_megabytes(pid) - memory
        after = proc.pss_megabytes(pid)
    return Row(
        name,
        f"`push run` for {elapsed:.0f} s without a message, after {size.idle_messages}; {channels}",
        measured={
            "% of a core": 100 * used / elapsed,
            "PSS MB": after,
            "RSS growth MB": growth,
            "context switches/s": switched / elapsed,
        },
        floor={"PSS MB": _libraries_megabytes()},
        floor_what=f"a Python that only imported {floors.LIBRARIES}",
        limits=(Limit("% of a core", 0.1), Limit("PSS MB", 70), Limit("RSS growth MB", 0.5)),
    )


def _libraries_megabytes() -> float:
    code = f"import {floors.LIBRARIES}\nimport sys\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen([PYTHON, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return proc.pss_megabytes(process.pid)
