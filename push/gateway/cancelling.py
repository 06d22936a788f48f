"""Ending a turn at a person's wish. What `result.json` says first wins over a cancel that comes too late."""

from __future__ import annotations

from pathlib import Path

from push.agents import process
from push.agents.spool import Spool
from push.ledger import turns
from push.ledger.database import Database
from push.ledger.moves import StaleRow
from push.model.machines import TURN
from push.model.values import Turn
from push.seams import seam

_TRIES = 5


def cancel(db: Database, spools: Path, turn_id: int) -> bool:
    """Cancel a turn: at once where it has not begun, else by telling its runner.

    Returns whether there was anything to cancel. A running agent ends, with all its processes, a little later.
    """
    for _ in range(_TRIES):  # it may begin, or end, between the look and the act
        turn = turns.get(db, turn_id)
        if turn is None:
            return False
        try:
            if turn.state == "waiting":
                turns.resume_waiting(db, turn, "operator")
            elif turn.state == "queued":
                turns.cancel(db, turn, "operator")
                return True
            elif turn.state == "running":
                process.cancel(Spool.at(spools, f"t{turn.id}-{turn.attempt}"))
                seam("turn.cancel_asked")
                if not _goes_on_without(db, turn):
                    return True
            else:
                return False
        except StaleRow:
            continue
    return False


def _goes_on_without(db: Database, turn: Turn) -> bool:
    """Whether the turn left the run that was told to end: a later run, which it may have begun, was not told."""
    now = turns.get(db, turn.id)
    return now is not None and now.state in TURN.open and (now.state, now.attempt) != (turn.state, turn.attempt)
