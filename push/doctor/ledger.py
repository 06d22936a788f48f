"""push.db and state.json: whole, small, and with nothing in them that stands still.

Owns what a person is told, and the repairs; does not own the proof that nothing was lost (`push verify`).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import closing
from functools import partial

from push import clock
from push.agents import process
from push.agents.spool import Spool
from push.config.settings import Settings
from push.doctor import open_files
from push.doctor.findings import FIX, Finding, failed, fine, of_error, repairable, warning
from push.errors import ConflictError, PushError
from push.gateway import commands
from push.ledger import arrivals, backlog, held, overdue, sessions
from push.ledger.backlog import Backlog
from push.ledger.database import Database
from push.ledger.overdue import OverdueTurn
from push.model.values import Session
from push.paths import Home
from push.providers.local import CHANNEL
from push.state import StateCorrupt, StateFile
from push.tasks import roles

_BUSY_SECONDS = 0.5
_HOUR_MS = 3600 * 1000
_AHEAD_MS = 60_000
_MOST = 100  # rows that are looked at one by one
_LEAST_BYTES = 1024 * 1024  # what SQLite wants free beside a database that it opens
_BIG_WAL_BYTES = 256 * 1024 * 1024  # as `push status` has it
#: The trouble of push.db -> the command that helps, or says more.
_NEXT = {
    "disk_full": FIX,
    "ledger_not_writable": FIX,
    "ledger_damaged": "push verify",
    "disk_failing": "push verify",
    "foreign_database": "push config show",
}


def file(home: Home) -> Iterator[Finding]:
    """Whether SQLite can read it from end to end."""
    path = home.push_db
    if not path.exists():
        yield fine("ledger", f"{path}: none yet")
        return
    try:
        with closing(_open(home)) as db:
            damage = db.one("PRAGMA quick_check(1)")
    except PushError as exc:
        yield _unusable(home, exc)
        return
    if damage != ("ok",):
        yield failed("ledger", "ledger_damaged", f"{path} is damaged", "push verify")
    else:
        yield fine("ledger", str(path))


def too_large(home: Home) -> Finding:
    """What is said of one that cannot be read through in the time there is."""
    return fine("ledger", f"{home.push_db}: not read through in the time that doctor takes; `push verify` reads it all")


def _open(home: Home) -> Database:
    return Database.open(home.push_db, busy_seconds=_BUSY_SECONDS)


def _unusable(home: Home, exc: PushError) -> Finding:
    if exc.code == "ledger_locked" and (held_by := open_files.holders(home.push_db)):
        finding = of_error("ledger", exc, f"ps -fp {','.join(str(one.pid) for one in held_by)}")
        return failed("ledger", exc.code, f"{finding.message}: {open_files.named(held_by)}", finding.hint)
    hint = _NEXT.get(exc.code, exc.hint)
    return of_error("ledger", exc, FIX if exc.code == "disk_failing" and _is_full(home) else hint)


def _is_full(home: Home) -> bool:
    disk = os.statvfs(home.root)
    return disk.f_bavail * disk.f_frsize < _LEAST_BYTES


def wal(home: Home) -> Iterator[Finding]:
    """The log of SQLite grows while somebody keeps an old view of push.db open. Nothing is said while it is small."""
    path = home.push_db.with_name(home.push_db.name + "-wal")
    size = path.stat().st_size if path.exists() else 0
    if size > _BIG_WAL_BYTES:
        others = open_files.holders(home.push_db)
        who = f"; open in {open_files.named(others)}" if others else ""
        found = warning("wal", "wal_big", f"{path} has {size // 1024**2} MiB{who}")
        yield repairable(found, partial(_empty_wal, home))


def _empty_wal(home: Home) -> str:
    """Raises ConflictError where a reader keeps it."""
    with closing(_open(home)) as db:
        is_empty = db.empty_wal()
    if not is_empty:
        others = open_files.holders(home.push_db)
        pids = ",".join(str(one.pid) for one in others)
        raise ConflictError(
            f"{open_files.named(others)} reads an old view of it",
            why="what that one still reads cannot be moved",
            hint=f"ps -fp {pids}" if pids else "push status",
        )
    return f"what stood in {home.push_db.name}-wal is in {home.push_db.name} now"


def state(home: Home) -> Iterator[Finding]:
    """state.json can be read."""
    kept = StateFile(home.state)
    try:
        known = kept.read()
    except StateCorrupt as exc:
        yield repairable(of_error("state", exc), partial(_rebuild, home, kept))
    except PushError as exc:
        yield of_error("state", exc, f"ls -ld {shlex.quote(str(kept.path))}")
    else:
        yield fine("state", f"{kept.path}: {len(known.sessions)} sessions")


def _rebuild(home: Home, kept: StateFile) -> str:
    """Write state.json anew from push.db."""
    db = Database.open_existing(home.push_db)
    known: dict[str, Session] = {}
    cursors: dict[str, tuple[str, int]] = {}
    if db is not None:
        with closing(db):
            known = sessions.last_sessions(db, commands.ends_session)
            cursors = {at.channel: (at.owner, at.position) for at in arrivals.positions(db)}  # the last owner counts
    old = kept.rebuild(known, cursors)
    count = sum(session.uuid is not None for session in known.values())
    return f"{kept.path} rebuilt from the ledger with {count} sessions; the old file is {old}"


# -- rows that stand still -------------------------------------------------------------------------------------------


def work(settings: Settings) -> Iterator[Finding]:
    """Messages and answers that should have moved by now; what waits for a person. Nothing is said where all moves."""
    if not settings.home.push_db.exists():
        return
    try:
        with closing(_open(settings.home)) as db:
            yield from [*_turns(settings, db), *_deliveries(db), *_waiting_for_a_person(db), *_clock(db)]
    except PushError:
        return  # the check of the ledger tells it


def _turns(settings: Settings, db: Database) -> Iterator[Finding]:
    now = clock.now_ms()
    late = overdue.turns(db, now - _HOUR_MS, _MOST)
    busy = {turn.conversation for turn in late if _is_worked_on(settings.home, turn)}  # an agent may work for hours
    late = [turn for turn in late if turn.conversation not in busy]
    if not late:
        return
    count = f"{len(late)}{' or more' if len(late) == _MOST else ''}"
    oldest = late[0]
    words = "1 message has" if len(late) == 1 else f"{count} messages have"
    message = f"{words} been open for an hour, and no agent works on {'it' if len(late) == 1 else 'them'}"
    detail = f"the oldest is t{oldest.id} of {oldest.conversation}, {oldest.state}"
    if not roles.consumer_lives(settings.home.run):
        start = "push consumer --drain" if settings.path else "push chat"
        yield warning("turns", "nothing_answers", f"{message}; nothing that answers is running; {detail}", start)
    elif oldest.not_before is not None:
        yield warning("turns", "turn_postponed", f"{message}; {detail}", f"push retries now t{oldest.id}")
    else:
        yield warning("turns", "turn_stuck", f"{message}; {detail}", f"push turns show t{oldest.id}")


def _is_worked_on(home: Home, turn: OverdueTurn) -> bool:
    spool = Spool.at(home.spool, f"t{turn.id}-{turn.attempt}")
    return turn.state == "running" and process.living_runner(spool) is not None


def _deliveries(db: Database) -> Iterator[Finding]:
    """Answers that reached nobody, or perhaps not, or not yet."""
    found: Backlog = backlog.read(db)
    for name, meaning, count in (
        ("failed", "could not be delivered", found.stuck.get("failed", 0)),
        ("unknown", "may have arrived, or not", found.stuck.get("unknown", 0)),
    ):
        if count > 0:
            yield warning("deliveries", f"delivery_{name}", f"{_answers(count)} {meaning}", "push retries list")
    late = overdue.deliveries(db, clock.now_ms() - _HOUR_MS, _MOST)
    if late:
        oldest = late[0]
        message = f"{_answers(len(late))} not out after an hour; the oldest is d{oldest.id} to {oldest.target}"
        command = f"push retries now d{oldest.id}"
        if oldest.channel == CHANNEL:
            command = f"push chat --user {shlex.quote(oldest.target)}"
        reason = f": {oldest.reason.replace('_', ' ')}" if oldest.reason else ""
        yield warning("deliveries", "delivery_waits", f"{message}{reason}", command)


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"


def _waiting_for_a_person(db: Database) -> Iterator[Finding]:
    kept = held.count(db)
    if kept.rows:
        message = f"{kept.turns} messages and {kept.deliveries} answers of a restored copy are held back"
        yield warning(
            "held", "held", f"{message}: release them when the original answers no more", "push retries now --held"
        )
    for one in backlog.read(db).paused:
        message = f"the conversation {one.conversation} is paused"
        yield warning("conversations", "paused", message, f"push conversations resume {shlex.quote(one.conversation)}")


def _clock(db: Database) -> Iterator[Finding]:
    newest = overdue.newest_change(db)
    if newest is not None and newest - clock.now_ms() > _AHEAD_MS:
        minutes = (newest - clock.now_ms()) // 60_000
        message = f"the clock was set back: push.db was written {minutes} min from now"
        yield warning("clock", "clock_set_back", message, "timedatectl set-ntp true")
