"""One turn after another without any process: the only file here that imports push, run as a process of its own.

Everything of a turn is the real thing (intake, bell, locks, plan, spool, ledger, audit, delivery to a terminal) except
that no runner is started: its output is put into the spool, and it is said to have ended well. Each line on standard
input is how many turns to do; each line on standard output the milliseconds of each.
"""

from __future__ import annotations

import json
import sys
import time

from push.agents import process
from push.agents.process import Launch, RunnerProcess
from push.agents.spool import Spool
from push.app.gear import open_gear
from push.app.terminal import Terminal
from push.config import load
from push.model.values import Exited
from push.tasks.drain import Drain
from push.tasks.turns import TurnWorker


def start(spool: Spool, launch: Launch, lock_fd: int) -> RunnerProcess:  # noqa: ARG001 - the shape of the real one
    """As `process.start`, with an answer at once."""
    spool.out.write_text("an answer\n")
    return RunnerProcess(0, -1)


def recover(spool: Spool) -> Exited:
    """As `process.recover`, of a run that went well."""
    return Exited("exited", 0, None, spool.out, spool.err)


def main(users: list[str]) -> None:
    """Serve until the end of input. Each user has a conversation already."""
    process.start = start
    process.recover = recover
    gear = open_gear(load(None))
    home = gear.settings.home
    drain = Drain(
        gear.db,
        TurnWorker(gear, lambda _turn: None),
        gear.stop,
        (home.run / "locks", home.spool),
        (_ring, lambda: None),
    )
    printed: list[str] = []
    desks = []
    for user in users:
        row = gear.db.one("SELECT id FROM conversation WHERE key = ?", (f"local:{user}",))
        assert row is not None
        desks.append((int(row[0]), Terminal(gear, user, lambda answer: printed.append(answer.text))))
    print("[]", flush=True)
    for line in sys.stdin:
        samples = []
        for number in range(int(line)):
            conversation, terminal = desks[number % len(desks)]
            before = len(printed)
            began = time.perf_counter()
            terminal.submit(f"message {number}")
            drain(conversation)
            terminal.look()
            samples.append((time.perf_counter() - began) * 1000)
            assert printed[before:] == ["an answer"], printed[before:]
        print(json.dumps(samples), flush=True)


def _ring(_conversation_id: int) -> None:
    raise AssertionError("a turn was left open")


if __name__ == "__main__":
    main(sys.argv[1:])
