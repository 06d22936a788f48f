"""Push with one of its guards removed, and the window widened in which the guard is needed.

A torture run that does not fail with a guard removed proves nothing. Run as `python -m tests.torture.crippled PIECE
consumer`; the piece `none` removes nothing and widens the windows only.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from push.agents import process
from push.agents.process import Recovered
from push.agents.spool import Spool
from push.cli.main import main
from push.ledger import outbox, turns
from push.ledger.moves import move
from push.locks import FileLock
from push.model.machines import OUTBOUND
from push.tasks.drain import Drain
from push.tasks.sweep import PERIOD_SECONDS, Sweep
from push.tasks.turns import TurnWorker

WINDOW_SECONDS = 0.2


def _replace(owner: object, name: str, function: object) -> None:
    assert hasattr(owner, name), name
    setattr(owner, name, function)


def _wrap(owner: object, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    _replace(owner, name, make(getattr(owner, name)))


def widen() -> None:
    """Between the last look at a conversation and its unlocking, somebody may commit."""

    def late(work: Callable[..., Any]) -> Callable[..., Any]:
        def working(*arguments: Any) -> None:
            work(*arguments)
            time.sleep(WINDOW_SECONDS)

        return working

    _wrap(Drain, "_work", late)


def sweep() -> None:
    """Nothing is rung but by who commits, or who looks again."""
    _replace(Sweep, "once", lambda _self: PERIOD_SECONDS)


def recheck() -> None:
    """No look after unlocking, and nobody who would make up for it."""
    sweep()
    _replace(Drain, "_look_again", lambda _self, _conversation: None)


def inheritance() -> None:
    """The runner gets a descriptor of nothing: a conversation is free as soon as its consumer is dead."""
    nothing = os.open(os.devnull, os.O_RDONLY)

    def without(start: Callable[..., Any]) -> Callable[..., Any]:
        return lambda spool, launch, _lock_fd: start(spool, launch, nothing)

    _wrap(process, "start", without)


def evidence() -> None:
    """As `inheritance`, and whoever comes next does not look for living processes either."""
    inheritance()

    def blind(recover: Callable[..., Any]) -> Callable[..., Any]:
        def recovering(spool: Spool) -> Any:
            if not spool.result.exists() and spool.agent.exists():
                return Recovered.KILLED
            return recover(spool)

        return recovering

    _wrap(process, "recover", blind)


def harvest() -> None:
    """What a run left is thrown away when its consumer did not live to see it."""

    def forgetful(handle: Callable[..., Any]) -> Callable[..., Any]:
        def handling(self: TurnWorker, turn: Any, lock_fd: int) -> Any:
            if turn.state == "running":
                Spool.at(self._spools, f"t{turn.id}-{turn.attempt}").result.unlink(missing_ok=True)
            return handle(self, turn, lock_fd)

        return handling

    _wrap(TurnWorker, "_handle", forgetful)


def order() -> None:
    """The newest message of a conversation first."""
    assert "t.id LIMIT" in turns._HEAD
    turns._HEAD = turns._HEAD.replace("t.id LIMIT", "t.id DESC LIMIT")


def unlock() -> None:
    """Locks are unlocked and not only closed: that frees the runner's reference too."""

    def loud(close: Callable[..., Any]) -> Callable[..., Any]:
        def closing(self: FileLock) -> None:
            if self.fd >= 0:
                fcntl.flock(self.fd, fcntl.LOCK_UN)
            close(self)

        return closing

    _wrap(FileLock, "close", loud)


def children() -> None:
    """Nothing is removed, but for the sweep; every start of a runner leaves a child that takes its time to exec."""

    def dawdling(start: Callable[..., Any]) -> Callable[..., Any]:
        def starting(*arguments: Any) -> Any:
            if os.fork() == 0:
                time.sleep(WINDOW_SECONDS)
                os._exit(0)
            return start(*arguments)

        return starting

    sweep()
    _wrap(process, "start", dawdling)


def copies() -> None:
    """As `children`, and the watch is closed but not unlocked: such a child keeps it, and looks after nothing."""
    children()
    _replace(FileLock, "unlock", FileLock.close)


def watch() -> None:
    """No watch: every worker that hears a bell of a busy conversation waits for it."""

    def always(take: Callable[..., Any]) -> Callable[..., Any]:
        def taking(path: Path, *, wait_seconds: float = 0.0) -> FileLock | None:
            if path.suffix == ".watch":
                return FileLock(path, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            lock: FileLock | None = take(path, wait_seconds=wait_seconds)
            return lock

        return taking

    _replace(FileLock, "take", staticmethod(always(FileLock.take)))


def mark() -> None:
    """An answer whose sender died is sent again without saying so."""

    def silently(db: Any, row: Any, _sequence: int, _reason: str, by: str) -> None:
        with db.write():
            move(db, OUTBOUND, row.id, ("sending", "unknown", by))
            move(db, OUTBOUND, row.id, ("unknown", "waiting", "sender"))

    _replace(outbox, "unknown", silently)


def none() -> None:
    """Everything is in its place."""


PIECES = {
    piece.__name__: piece
    for piece in (none, sweep, recheck, children, copies, inheritance, evidence, harvest, order, unlock, watch, mark)
}

if __name__ == "__main__":
    widen()
    PIECES[sys.argv[1]]()
    if sys.argv[2] == "screen":
        from tests.torture import screen

        screen.main(sys.argv[3])
    sys.exit(main(sys.argv[2:]))
