"""Whether a long history makes a turn slower: the same turns on a ledger of 1,000 and one of 1,000,000 messages.

Owns the two ledgers: made by Push, then filled in SQL with what as many answered messages leave behind.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from statistics import median
from typing import Self

from benchmarks.gateway import PYTHON, ROOT, Broken, Home
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size

NAME = "history"

CONVERSATIONS = 25
Blocks = list[list[float]]
USERS = tuple(f"h{number}" for number in range(CONVERSATIONS))

#: Numbers 1 to :count. The i-th message was sent at `_AT` (milliseconds): one a second, the newest a day ago.
_NUMBERS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < :count)"
_AT = "(:now - 86400000 - (:count - i) * 1000)"
_WHO = f"i % {CONVERSATIONS}"
_TRANSITIONS = f"""INSERT INTO transition (machine, row_id, source, target, actor, at)
    {_NUMBERS} SELECT %r, i, s.source, s.target, s.actor, {_AT} + s.after FROM n CROSS JOIN
    (SELECT NULL AS source, %r AS target, %r AS actor, %d AS after
    UNION ALL VALUES (%r, %r, %r, %d), (%r, %r, %r, %d)) s"""
_FILL = (
    f"""INSERT INTO conversation (id, key, channel, created_at)
    {_NUMBERS} SELECT i, 'local:h' || (i - 1), 'local', :now FROM n WHERE i <= {CONVERSATIONS}""",
    f"""INSERT INTO turn (id, conversation_id, channel, event_id, sender, target, kind, text, state, attempt,
    received_at, queued_at, started_at, finished_at, agent, is_new, epoch, work_dir, instructions_sha256, rehydrated)
    {_NUMBERS} SELECT i, {_WHO} + 1, 'local', printf('%012x:1', i), 'h' || ({_WHO}), 'h' || ({_WHO}), 'message',
    printf('question %d: what is on today, and what can wait?', i), 'answered', 1, {_AT},
    {_AT}, {_AT} + 20, {_AT} + 500, 'command', 1, 0, :work_dir, :digest, 0 FROM n""",
    f"""INSERT INTO outbound (id, conversation_id, turn_id, channel, target, state, attempt, created_at, finished_at)
    {_NUMBERS} SELECT i, {_WHO} + 1, i, 'local', 'h' || ({_WHO}), 'delivered', 1, {_AT} + 500, {_AT} + 510 FROM n""",
    f"""INSERT INTO part (outbound_id, seq, text, receipt, delivered_at)
    {_NUMBERS} SELECT i, 0, printf('answer %d %.160c', i, '.'), printf('%012x:%d.0', i, i), {_AT} + 510 FROM n""",
    _TRANSITIONS
    % (
        "outbound",
        "pending",
        "worker",
        500,
        "pending",
        "sending",
        "sender",
        505,
        "sending",
        "delivered",
        "sender",
        510,
    ),
    _TRANSITIONS
    % ("turn", "queued", "channel", 0, "queued", "running", "worker", 20, "running", "answered", "worker", 500),
)


def measure(size: Size) -> Iterator[Row]:
    """Blocks of turns on the short and on the long ledger, which goes first alternating."""
    small, big = size.history
    with ExitStack() as stack:
        homes = [stack.enter_context(Home(["cat"])) for _ in size.history]
        began = time.monotonic()
        for home, count in zip(homes, size.history, strict=True):
            fill(home, count)
        built = time.monotonic() - began
        megabytes = homes[1].push_db.stat().st_size / 1e6
        drivers = [stack.enter_context(Driver(home)) for home in homes]
        blocks: tuple[list[list[float]], list[list[float]]] = ([], [])
        for block in range(size.blocks + 1):
            for which in (0, 1) if block % 2 else (1, 0):
                blocks[which].append(drivers[which].turns(size.turns_per_block))
        yield _turns_row(size.history, (blocks[0][1:], blocks[1][1:]), (built, megabytes))  # the first warms
        status = _status(homes, size.commands)
    yield Row(
        f"{NAME} status",
        f"`push status` with {big:,} messages of history, against {small:,}, ms",
        measured={
            "× short history": median(long / short for short, long in zip(*status, strict=True)),
            **spread(status[1]),
        },
        floor=spread(status[0]),
        floor_what=f"with {small:,}",
        limits=(Limit("× short history", 1.25),),
    )


def _turns_row(counts: tuple[int, int], blocks: tuple[Blocks, Blocks], ledger: tuple[float, float]) -> Row:
    small, big = counts
    pairs = zip(*blocks, strict=True)  # neighbours in time, so that what else the machine does hits both
    return Row(
        NAME,
        f"bookkeeping of a turn with {big:,} messages of history (8 rows each), against {small:,}, ms",
        measured={
            "× short history": median(median(long) / median(short) for short, long in pairs),
            **spread([each for block in blocks[1] for each in block]),
        },
        floor=spread([each for block in blocks[0] for each in block]),
        floor_what=f"with {small:,}; every step from a terminal's line to its printed answer, without the processes",
        limits=(Limit("× short history", 1.25),),
        note=f"the ledgers were filled in {ledger[0]:.0f} s; the long one has {ledger[1]:,.0f} MB",
    )


def fill(home: Home, count: int) -> None:
    """Let Push make its ledger, then put `count` answered messages into it."""
    home.push("chat", "--user", "nobody", "--no-wait", "/help")  # any command that opens the ledger makes it
    home.push("consumer", "--drain")
    values = {
        "count": count,
        "now": time.time_ns() // 1_000_000,
        "work_dir": str(home.root / "assistant"),
        "digest": "0" * 64,
    }
    with closing(sqlite3.connect(home.push_db, isolation_level=None)) as ledger:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -200000", "foreign_keys = OFF"):
            ledger.execute(f"PRAGMA {pragma}")
        ledger.execute("BEGIN")
        for table in ("part", "transition", "outbound", "turn", "conversation"):
            ledger.execute(f"DELETE FROM {table}")
        for statement in _FILL:
            ledger.execute(statement, values)
        ledger.execute("COMMIT")
        ledger.execute("PRAGMA journal_mode = WAL")


class Driver:
    """The process that does turns on one ledger."""

    def __init__(self, home: Home) -> None:
        command = [PYTHON, "-m", "benchmarks.history_driver", *USERS]
        self._process = subprocess.Popen(
            command, env=home.env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self) -> Self:
        self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def turns(self, count: int) -> list[float]:
        """Do so many turns; the milliseconds of each."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> list[float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Broken("the driver of the turns ended")
        return [float(value) for value in json.loads(line)]


def _status(homes: list[Home], rounds: int) -> list[list[float]]:
    samples: list[list[float]] = [[], []]
    for _ in range(rounds):
        for which, home in enumerate(homes):
            began = time.monotonic()
            home.push("status")
            samples[which].append((time.monotonic() - began) * 1000)
    return samples
