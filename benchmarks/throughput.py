"""1,000 messages over 50 terminals, through `push run` with `cat` as the agent, beside a pool of bare runners."""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks import floors, proc
from benchmarks.gateway import PATIENCE_SECONDS, Broken, Chat, Home, Run
from benchmarks.rows import Limit, Row
from benchmarks.sizes import Size

NAME = "throughput"


def measure(size: Size) -> Iterator[Row]:
    """Storms and floors in turn. The clock runs from the first line written to the last reply read."""
    messages = size.conversations * size.messages_each
    with Home(["cat"]) as home, home.run() as run:
        chats = [home.chat(f"u{number}") for number in range(size.conversations)]
        try:
            for chat in chats:  # a terminal that has answered once has started, and is idle
                chat.ask("hello")
            ours, floor, spent = [], [], []
            for number in range(size.storms):
                seconds, floor_cpu = floors.pool_of_bare_runners(messages)
                floor.append(seconds)
                before = _spent(run, chats)
                ours.append(_storm(chats, number, size.messages_each))
                spent.append([floor_cpu, *(now - then for now, then in zip(_spent(run, chats), before, strict=True))])
            memory = proc.pss_megabytes(run.process.pid)
        finally:
            for chat in chats:
                chat.leave()
            for chat in chats:
                chat.close()
    each = [1000 * median(column) / messages for column in zip(*spent, strict=True)]
    yield Row(
        NAME,
        f"{messages:,} messages over {size.conversations} conversations, agent `cat`, until every reply was printed",
        measured={
            "× floor": median(a / b for a, b in zip(ours, floor, strict=True)),
            "messages/s": messages / median(ours),
            "seconds": median(ours),
        },
        floor={"seconds": median(floor), "messages/s": messages / median(floor)},
        floor_what=f"{floors.POOL_THREADS} threads that each start a bare python which runs cat",
        limits=(Limit("× floor", 2.5), Limit("messages/s", 40, at_least=True)),
        note=f"CPU per message: gateway {each[1]:.1f} ms, runners and agents {each[2]:.1f} ms, terminals {each[3]:.1f} "
        f"ms; floor {each[0]:.1f} ms. PSS of push run afterwards {memory:.0f} MB",
    )


def _storm(chats: Sequence[Chat], number: int, each: int) -> float:
    """Every terminal gets its lines at once. Seconds until all are answered, each once and in order."""
    wanted = {chat.user: [f"{number} {chat.user} {line}" for line in range(each)] for chat in chats}
    got: dict[str, list[str]] = {chat.user: [] for chat in chats}
    missing = each * len(chats)
    with selectors.DefaultSelector() as selector:
        for chat in chats:
            selector.register(chat.stdout, selectors.EVENT_READ, chat)
        began = time.monotonic()
        for chat in chats:
            chat.say(*wanted[chat.user])
        while missing > 0:
            ready = selector.select(PATIENCE_SECONDS)
            if not ready:
                raise Broken(f"no reply for {PATIENCE_SECONDS:.0f} s, {missing} are missing")
            for key, _ in ready:
                lines = key.data.take()
                got[key.data.user] += lines
                missing -= len(lines)
        seconds = time.monotonic() - began
    for user, lines in wanted.items():
        if got[user] != lines:
            raise Broken(f"{user} was answered {got[user]}, not {lines}")
    return seconds


def _spent(run: Run, chats: Sequence[Chat]) -> tuple[float, float, float]:
    """CPU seconds so far: the gateway, its children, all terminals."""
    gateway = proc.cpu(run.process.pid)
    return gateway.own, gateway.children, sum(proc.cpu(chat.process.pid).own for chat in chats)
