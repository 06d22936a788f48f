"""From starting `push run` to its being ready, or asking Telegram, and to the answer of a message that waited."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks import floors
from benchmarks.gateway import PATIENCE_SECONDS, Broken, Home, Run
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size
from benchmarks.telegram import FIRST_USER, asked, telegram_home
from tests.telegram.remote import separate

NAME = "start"


def measure(size: Size) -> Iterator[Row]:
    """The terminal, then Telegram."""
    yield from _terminal(size)
    yield from _telegram(size)


def _terminal(size: Size) -> Iterator[Row]:
    """Each time: a message is committed by a terminal that does not wait; then the gateway starts."""
    ready, answered, stopped, floor = [], [], [], []
    with Home(["cat"]) as home:
        for number in range(size.starts + 1):
            turn = int(home.push("chat", "--user", "ann", "--no-wait", f"message {number}"))
            floor.append(floors.libraries())
            run = Run(home)
            try:
                at = _answered_at(home.push_db, turn)
                run.wait_ready()
            finally:
                began = time.monotonic()
                run.stop()
            ready.append((run.ready - run.started) * 1000)
            answered.append((at - run.started) * 1000)
            stopped.append((time.monotonic() - began) * 1000)
    note = f"stopping it took p50 {spread(stopped)['p50']:.0f} ms"
    for name, what, samples, limit in (
        ("ready", "`push run`, from start to ready, ms", ready, 1000),
        ("answer", "`push run`, from start to the committed answer of a message that waited, ms", answered, 1500),
    ):
        yield Row(
            f"{NAME} {name}",
            what,
            measured=spread(samples[1:]),  # the first start warms
            floor=spread(floor[1:]),
            floor_what=f"a Python that only imports {floors.LIBRARIES}",
            limits=(Limit("p50", limit),),
            note=note if name == "ready" else "",
        )


def _telegram(size: Size) -> Iterator[Row]:
    """Each time: somebody writes; then the gateway starts. Each time another, so that no budget holds an answer up."""
    polled, answered, floor = [], [], []
    with separate() as telegram, telegram_home(["cat"], telegram, size.starts + 1) as home:
        for number in range(size.starts + 1):
            user = FIRST_USER + number
            telegram.reset()
            telegram.say(user, "hello")
            floor.append(floors.libraries())
            run = Run(home)
            try:
                run.wait_ready()
                answer = asked(telegram, "sendMessage", user)
            finally:
                run.stop()
            polled.append((telegram.requests("getUpdates")[0].monotonic - run.started) * 1000)
            answered.append((answer.monotonic - run.started) * 1000)
    for name, what, samples, limit in (
        ("poll", "first getUpdates received", polled, 1000),
        ("telegram", "first answer to a message that waited at the Bot API received", answered, 1500),
    ):
        yield Row(
            f"{NAME} {name}",
            f"`push run`, from start to {what}, ms",
            measured=spread(samples[1:]),
            floor=spread(floor[1:]),
            floor_what=f"a Python that only imports {floors.LIBRARIES}",
            limits=(Limit("p50", limit),),
        )


def _answered_at(push_db: Path, turn: int) -> float:
    """The instant (monotonic seconds) at which the turn's answer is in the ledger, looked for each 2 ms."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with closing(sqlite3.connect(f"file:{push_db}?mode=ro", uri=True)) as ledger:
        while time.monotonic() < deadline:
            if ledger.execute("SELECT 1 FROM outbound WHERE turn_id = ?", (turn,)).fetchone():
                return time.monotonic()
            time.sleep(0.002)
    raise Broken(f"turn {turn} was not answered")
