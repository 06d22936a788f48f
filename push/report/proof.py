"""The proof over a home: state.json and push.db together, each damage by name.

Owns the order of reading and what a missing or unreadable file means; does not own the questions
(`push.ledger.verify`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from push.errors import PushError
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.ledger.verify import Damage, Proof, unreadable, verify
from push.paths import Home
from push.state import State, StateCorrupt, StateFile


def prove(home: Home, watch: Callable[[str], None]) -> Proof:
    """Every damage to the home's state. `watch` is told what is being looked at.

    state.json is read first: what it says was true of the ledger then, and still is. Raises PushError where the
    ledger cannot be asked at all: it is locked, not writable, another program's, or newer than this version.
    """
    damages: tuple[Damage, ...] = ()
    try:
        state = StateFile(home.state).read()
    except StateCorrupt as exc:
        state, damages = State({}, {}, {}), (Damage("state_damaged", "state.json", exc.why),)
    proof = _of_ledger(home, state, watch)
    return replace(proof, damages=(*proof.damages, *damages))


def _of_ledger(home: Home, state: State, watch: Callable[[str], None]) -> Proof:
    if _is_emptied(home.push_db):
        return Proof(0, 0, (Damage("ledger_missing", "push.db", "the file is empty: it holds no ledger"),), {})
    try:
        db = Database.open_existing(home.push_db)
    except PushError as exc:
        if exc.code != "ledger_damaged":
            raise
        return Proof(0, 0, (unreadable(),), {})
    if db is None:
        ours = any(session.work_dir for session in state.sessions.values())
        sentence = "it is not there, but state.json holds sessions of its conversations"
        return Proof(0, 0, (Damage("ledger_missing", "push.db", sentence),) if ours else (), {})
    try:
        cursors = [Reading(name, state.cursor_owner.get(name, ""), at) for name, at in state.cursors.items()]
        return verify(db, state.sessions, cursors, watch)
    finally:
        db.close()


def _is_emptied(path: Path) -> bool:
    """Whether there is a file of no length. A ledger has its first page before anything is accepted."""
    return path.is_file() and path.stat().st_size == 0
