"""Forgetting what was kept as long as its owner wants, in the background of one process of a home, and by hand.

Owns when, in which order, and what of the spool and the logs nobody needs; does not own erasing texts
(`push.ledger.retention`), nor rotating files (`push.appendlog`).
"""

from __future__ import annotations

import logging
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from push import audit, clock, telemetry
from push.agents import process, spool
from push.agents.spool import Spool
from push.appendlog import AppendFile, Instant
from push.config.settings import Retention
from push.errors import PushError, TemporaryError
from push.ledger import retention, turns
from push.ledger.database import Database
from push.model.machines import TURN
from push.paths import Home
from push.tasks import roles
from push.tasks.turns import Gear

BIG_WAL_BYTES = 16 * 1024 * 1024
#: What remains of push.db may take so much for it to be written anew beside a gateway's work: half a second.
COMPACT_BYTES = 64 * 1024 * 1024
_COMPACT_EVERY_MS = 24 * 3600 * 1000
_FIRST_SECONDS = 5.0  # a start has better things to do
_LOOK_SECONDS = 300.0
_LOOKS = 12  # of which one is a whole pass: once an hour
_REST_SECONDS = 0.02  # between two transactions, for others
_LOG = re.compile(r"(.+\.log)(?:\.\d+)?")

log = logging.getLogger(__name__)


class RetentionLoop:
    """A thread that forgets soon after the start, then once an hour, while `leads` says that this process is the one.

    Between, it empties a WAL that has become big. `beat` is told what came of it.
    """

    def __init__(self, gear: Gear, leads: Callable[[], bool], beat: Callable[[str, str], None]) -> None:
        self._gear = gear
        self._leads = leads
        self._beat = beat
        self._note = "nothing done yet"
        self._thread = threading.Thread(target=self._loop, name="retention", daemon=True)

    def start(self) -> None:
        """Begin; ends with the stop flag."""
        self._thread.start()

    def join(self, seconds: float | None) -> bool:
        """Wait for its end, however long with None; returns whether it ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        looks = 0
        pause = _FIRST_SECONDS
        try:
            while not self._gear.stop.wait(pause * random.uniform(1.0, 1.2)):
                pause = _LOOK_SECONDS
                try:
                    looks = self._look(looks)
                except Exception:  # an outage of the ledger, a full disk: the next look tries again
                    log.exception("retention could not do its work")
                    self._note, looks = "trouble; its log says more", 0
                self._beat("retention", self._note)
        finally:
            self._gear.db.close_thread()

    def _look(self, looks: int) -> int:
        """Do what is due at this look; returns which the next one is, 0 for a whole pass."""
        if not self._leads():
            self._note = "another process leads"
            return 0
        if looks == 0:
            self._note = self.once()
        else:
            empty_big_wal(self._gear.db, BIG_WAL_BYTES)
        return (looks + 1) % _LOOKS

    def once(self) -> str:
        """One whole pass; returns what it did, in a few words."""
        home, limits = self._gear.settings.home, self._gear.settings.retention
        done = self._erase(limits)
        done += forget_files(home, limits)
        done += sweep_spool(home.spool, limits, self._gear.db)
        done += empty_big_wal(self._gear.db, BIG_WAL_BYTES)
        return "; ".join(done) or "nothing was old enough"

    def _erase(self, limits: Retention) -> list[str]:
        if limits.history is None:
            return []
        db, counts = self._gear.db, Counter[str]()
        for name, count in retention.erase(db, clock.now_ms() - int(limits.history * 1000)):
            counts[name] += count
            if self._gear.stop.wait(_REST_SECONDS):
                break
        if counts:
            self._gear.audit.record("texts_erased", actor="retention", **counts)
        if not self._gear.stop.is_set:
            _finish(db)
        return [f"erased {', '.join(f'{count:,} {name}' for name, count in counts.items())}"] if counts else []


def _finish(db: Database) -> None:
    """Have what was erased gone from the files too, where that does not hold others up."""
    due = clock.now_ms() - retention.compacted_at(db) >= _COMPACT_EVERY_MS
    if not retention.wants_compacting(db):
        return
    if due and db.used_bytes <= COMPACT_BYTES:
        try:
            retention.compact(db)
        except TemporaryError as exc:  # it takes room, which may not be there; the next pass tries again
            log.warning("push.db cannot be written anew: %s", exc.why)
    db.empty_wal()


def tidy(home: Home, limits: Retention) -> list[str]:
    """Remove, at once, what is safe to remove: old logs, what is left in the spool, the WAL. Erases no text.

    Beside a gateway, too. Returns what was done, a few words each. What cannot be removed stays.
    """
    done = forget_files(home, limits)
    try:
        db = Database.open_existing(home.push_db, busy_seconds=1.0)
    except PushError:
        return done
    if db is None:
        return done
    try:
        done += sweep_spool(home.spool, limits, db)
        done += empty_big_wal(db, 1)  # first: what follows takes room
        if retention.wants_compacting(db) and (db.used_bytes <= COMPACT_BYTES or not roles.living(home.run)):
            retention.compact(db)
            done.append("wrote push.db anew, without what was erased")
            db.empty_wal()
    except TemporaryError as exc:
        log.warning("cannot tidy the ledger: %s", exc.why)
    finally:
        db.close()
    return done


def empty_big_wal(db: Database, least_bytes: int) -> list[str]:
    """Empty the WAL where it has at least so many bytes."""
    wal = db.path.with_name(db.path.name + "-wal")
    size = wal.stat().st_size if wal.exists() else 0
    if size < least_bytes or not db.empty_wal():
        return []
    return [f"emptied {wal.name} ({size / 1e6:.1f} MB)"]


def forget_files(home: Home, limits: Retention) -> list[str]:
    """Rotate and remove old files of the audit log and of the logs."""
    done = []
    if limits.audit is not None and (count := _forget([home.audit], limits.audit, audit.instant)):
        done.append(f"removed {count} old {'file' if count == 1 else 'files'} of the audit log")
    if limits.logs is not None and (count := _forget(log_files(home.logs), limits.logs, telemetry.instant)):
        done.append(f"removed {count} old {'log' if count == 1 else 'logs'}")
    return done


def _forget(paths: Iterable[Path], limit_seconds: float, instant: Instant) -> int:
    count = 0
    for path in paths:
        try:
            count += AppendFile(path).forget(int(limit_seconds * 1000), instant)
        except OSError as exc:
            log.warning("cannot forget what is old in %s: %s", path, exc.strerror)
    return count


def log_files(logs: Path) -> list[Path]:
    """The logs that are there, each by the name without a number, also where only rotated files are left."""
    if not logs.is_dir():
        return []
    found = {match[1] for path in logs.iterdir() if (match := _LOG.fullmatch(path.name))}
    return [logs / name for name in sorted(found)]


def sweep_spool(spools: Path, limits: Retention, db: Database) -> list[str]:
    """Remove folders that nobody needs and nobody has touched for so long: of runs, and of probes."""
    if limits.spool is None or not spools.is_dir():
        return []
    before = clock.now_ms() - limits.spool * 1000
    old = [folder for folder in spools.iterdir() if _touched_at(folder) < before and not _is_needed(db, folder)]
    count = 0
    for folder in old:
        try:
            spool.remove(Spool(folder))
            count += 1
        except OSError as exc:
            log.warning("cannot remove %s: %s", folder, exc.strerror)
    return [f"removed {count} old {'folder' if count == 1 else 'folders'} of the spool"] if count else []


def _touched_at(folder: Path) -> float:
    """When the newest of a folder's files was written (milliseconds since 1970)."""
    try:
        newest = max((path.lstat().st_mtime for path in (folder, *folder.iterdir())), default=0.0)
    except NotADirectoryError:
        newest = folder.lstat().st_mtime
    except FileNotFoundError:  # it is just being removed
        return float("inf")
    return newest * 1000


def _is_needed(db: Database, folder: Path) -> bool:
    """Whether its turn is open, with this run as the newest, or its runner lives."""
    run = re.fullmatch(r"t(\d{1,18})-(\d{1,18})", folder.name)
    turn = turns.get(db, int(run[1])) if run else None
    if run and turn is not None and turn.state in TURN.open and int(run[2]) >= turn.attempt:
        return True
    return process.living_runner(Spool(folder)) is not None
