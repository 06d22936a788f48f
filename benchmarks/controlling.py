"""How soon `/status` is answered while everything else is held up: all workers wait for agents, four sends stall.

Owns both rows, the second with as many busy processes as there are cores; does not own what `/status` says.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.gateway import BARE, PATIENCE_SECONDS, Broken
from benchmarks.latency import Bell
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size
from benchmarks.telegram import FIRST_USER, asked, telegram_home
from tests.telegram.remote import FakeTelegram, separate

NAME = "control"
_STALLED = 4  # as in DESIGN.md 12
_STALL_SECONDS = 600.0
_ANSWERS = 4  # to each of their chats: Push gives each up after two times 30 s, and goes on to stall with the next
_ASKING = 8  # so many chats that no budget holds up an answer

_AGENT = """\
read -r line
test "$line" = answer && exec echo done
echo s >"$1"
exec sleep 600
"""

_BARE_CLIENT = """
import http.client, sys
connection = http.client.HTTPConnection(sys.argv[1])
connection.request("POST", sys.argv[2])
connection.getresponse().read()
"""

#: Computes until the process that started it is gone.
_BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100_000))
"""


def measure(size: Size) -> Iterator[Row]:
    """First it is held up, then people who ask for nothing else ask, with and without company."""
    busy = range(FIRST_USER, FIRST_USER + _STALLED + size.workers)
    asking = range(busy.stop, busy.stop + _ASKING)
    lines = (f"turns_workers = {size.workers}", 'shutdown = "stop"')
    with Bell() as bell, separate() as telegram:
        agent = ["sh", "-c", _AGENT, "agent", str(bell.path)]
        with telegram_home(agent, telegram, len(busy) + _ASKING, *lines) as home, home.run():
            try:
                _hold_up(telegram, bell, busy)
                alone = _ask(telegram, asking, size)
                with _saturated():
                    crowded = _ask(telegram, asking, size)
            finally:
                telegram.refuse_connections()  # which ends the sends that stall
    held_up = f"{size.workers} workers waiting for agents, {_STALLED} sends stalled"
    for name, what, (ours, floor), limit in (
        ("held up", held_up, alone, 50),
        ("saturated", f"{held_up}, all cores saturated", crowded, 250),
    ):
        yield Row(
            f"{NAME} {name}",
            f"`/status` visible at the Bot API → its answer received, {what}, ms",
            measured=spread(ours),
            floor=spread(floor),
            floor_what="python -I -S that asks the same Bot API once",
            limits=(Limit("p95", limit),),
        )


def _hold_up(telegram: FakeTelegram, bell: Bell, users: range) -> None:
    """Let the first people's answers stall, and the agents of the others sleep."""
    for user in users[:_STALLED]:
        telegram.disturb("sendMessage", "silence", seconds=_STALL_SECONDS, chat=user, times=None)
        for _ in range(_ANSWERS):
            telegram.say(user, "answer")
    for user in users[:_STALLED]:
        asked(telegram, "sendMessage", user)
    for user in users[_STALLED:]:
        telegram.say(user, "sleep")
    sleeping = 0
    while sleeping < len(users) - _STALLED:
        if not select.select([bell.fd], (), (), PATIENCE_SECONDS)[0]:
            raise Broken(f"only {sleeping} agents run")
        sleeping += os.read(bell.fd, 4096).count(b"s")


def _ask(telegram: FakeTelegram, users: range, size: Size) -> tuple[list[float], list[float]]:
    """Milliseconds until `/status` is answered, and of the floor, in turn."""
    ours, floor = [], []
    for number in range(-1, size.controls):
        user = users[number % len(users)]
        floor.append(_floor(telegram))
        time.sleep(size.pause_seconds)
        telegram.reset()
        began = time.monotonic()
        telegram.say(user, "/status")
        time.sleep(0.02)  # so that looking does not slow down what is looked at
        ours.append((asked(telegram, "sendMessage", user).monotonic - began) * 1000)
    return ours[1:], floor[1:]  # the first opens connections


def _floor(telegram: FakeTelegram) -> float:
    command = [*BARE, "-c", _BARE_CLIENT, telegram.url.removeprefix("http://"), f"/bot{telegram.token}/getMe"]
    began = time.monotonic()
    subprocess.run(command, check=True)
    return (time.monotonic() - began) * 1000


@contextmanager
def _saturated() -> Iterator[None]:
    """As many processes as cores that only compute."""
    processes = [subprocess.Popen([*BARE, "-c", _BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
