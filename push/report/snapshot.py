"""The snapshot behind `push status`: who lives, what runs, what waits, what needs a person.

Owns gathering it, changing nothing, in a fraction of a second, whatever is broken; does not own how it is shown
(`push.cli.status`). Instants are milliseconds since 1970, sizes are bytes.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from push import clock
from push.agents.spool import FREE_BYTES, Spool
from push.config.settings import Settings
from push.errors import PushError, TemporaryError
from push.ledger import backlog as ledger_backlog
from push.ledger import retention, retries
from push.ledger.backlog import MOST_FAILED, Backlog, Running
from push.ledger.database import Database
from push.ledger.retries import Retry
from push.paths import Home, open_plain
from push.report import channels, hints, kept, reading
from push.report.channels import ChannelState
from push.report.kept import Kept
from push.state import StateFile
from push.tasks import roles
from push.tasks.roles import Holder

#: Postponed turns that are named, and paused conversations; the rest is counted.
MOST_POSTPONED = 5
MOST_PAUSED = 5
_BUSY_SECONDS = 1.0
_LATE_MS = 100_000  # the loops that beat do so every 30 s
_SOON_MS = 10_000  # a terminal that lives has printed an answer by then
_BEATING = ("sweep", "turns")
_LATE_ANSWER_MS = 300_000  # a chat that is paused, or a service that is away, may be over by then
_BIG_WAL_BYTES = 256 * 1024 * 1024
_RUN_ID = re.compile(r"t(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """A running turn. `pid` is the agent's; None where no process of the run lives (its gateway will find out)."""

    turn: Running
    pid: int | None


@dataclass(frozen=True, slots=True)
class Attention:
    """Something that a person should look at, and the command to begin with."""

    what: str
    command: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of it. `backlog` is None where there is no ledger yet, or `trouble` says why it cannot be read.

    `start` is the command that brings a consumer here. `kept` is None where the settings were not told.
    """

    home: Path
    start: str
    at: int
    holders: tuple[Holder, ...]
    channels: tuple[ChannelState, ...]
    backlog: Backlog | None
    trouble: PushError | None
    running: tuple[RunningTurn, ...]
    postponed: tuple[Retry, ...]
    files: dict[str, int]
    free: int | None
    leftover: int
    state_trouble: PushError | None
    attention: tuple[Attention, ...]
    kept: Kept | None = None


@dataclass(frozen=True, slots=True)
class _Ledger:
    """What was read of push.db, or why it was not."""

    backlog: Backlog | None = None
    postponed: tuple[Retry, ...] = ()
    texts: retention.Kept | None = None
    trouble: PushError | None = None


def take(home: Home, start: str = "push run", told: Settings | None = None) -> Snapshot:
    """Look at everything once, with `told` also at what the settings say about it.

    Raises PushError where the ledger is another program's, or newer than we know.
    """
    at = clock.now_ms()
    holders = tuple(roles.living(home.run))
    ledger = _ledger(home)
    backlog = ledger.backlog
    state_trouble = _state(home)
    running = tuple(_running(home, turn) for turn in (backlog.running if backlog else ()))
    files, free = _sizes(home), _free(home.root)
    snapshot = Snapshot(
        home=home.root,
        start=start,
        at=at,
        holders=holders,
        channels=tuple(channels.of(holders, at)),
        backlog=backlog,
        trouble=ledger.trouble,
        running=running,
        postponed=ledger.postponed,
        files=files,
        free=free,
        leftover=_leftover(home, backlog),
        state_trouble=state_trouble,
        attention=tuple(Attention(*found) for found in reading.differences(told.path, holders)) if told else (),
        kept=kept.of(home, told.retention, ledger.texts) if told else None,
    )
    return _with_attention(snapshot, consumes=roles.consumer_lives(home.run))


def _ledger(home: Home) -> _Ledger:
    try:
        db = Database.open_existing(home.push_db, busy_seconds=_BUSY_SECONDS)
        if db is None:
            return _Ledger()
        try:
            backlog = ledger_backlog.read(db)
            waiting = retries.waiting_turns(db, MOST_POSTPONED) if backlog.postponed else []
            texts = retention.kept(db)
        finally:
            db.close()
    except TemporaryError as exc:
        return _Ledger(trouble=exc)
    return _Ledger(backlog, tuple(waiting), texts)


def _state(home: Home) -> PushError | None:
    try:
        StateFile(home.state).read()
    except PushError as exc:
        return exc
    return None


def _running(home: Home, turn: Running) -> RunningTurn:
    from push.agents import process  # costs more than the rest of this page; most of the time nothing runs

    spool = Spool.at(home.spool, f"t{turn.id}-{turn.attempt}")
    pid = None
    if process.living_runner(spool) is not None:
        # Its agent may be only just being started.
        with suppress(OSError, ValueError, IndexError), open_plain(spool.agent) as file:
            pid = int(file.read().split()[0])
    return RunningTurn(turn, pid)


def _sizes(home: Home) -> dict[str, int]:
    wal = home.push_db.with_name(home.push_db.name + "-wal")
    named = {"push.db": home.push_db, "push.db-wal": wal, "queue.db": home.queue_db, "state.json": home.state}
    sizes = {}
    for name, path in named.items():
        with suppress(OSError):
            sizes[name] = path.stat().st_size
    return sizes


def _free(folder: Path) -> int | None:
    try:
        room = os.statvfs(folder)
    except OSError:
        return None
    return room.f_bavail * room.f_frsize


def _leftover(home: Home, backlog: Backlog | None) -> int:
    """Folders in the spool that no running turn uses. One that has just ended may be among them for a moment."""
    if backlog is None:
        return 0
    used = {f"t{turn.id}-{turn.attempt}" for turn in backlog.running}
    try:
        return sum(bool(_RUN_ID.fullmatch(run.name)) and run.name not in used for run in home.spool.iterdir())
    except OSError:
        return 0


# -- what needs a person ---------------------------------------------------------------------------------------------


def _with_attention(snapshot: Snapshot, *, consumes: bool) -> Snapshot:
    found = [*_of_files(snapshot), *snapshot.attention]
    waiting = sum(snapshot.backlog.turns.values()) if snapshot.backlog else 0
    if waiting and not consumes:
        found.append(Attention(f"{waiting} {_plural(waiting, 'message')} open, and nothing answers.", snapshot.start))
    found += _of_loops(snapshot)
    found += [
        Attention(f"{channel.name} {_unread(channel, snapshot.at)}.", "push doctor")
        for channel in snapshot.channels
        if channel.deaf_since is not None or not channel.is_read
    ]
    if snapshot.backlog is not None:
        found += _of_backlog(snapshot.backlog, snapshot.at)
    return replace(snapshot, attention=tuple(found))


def _of_files(snapshot: Snapshot) -> list[Attention]:
    found = []
    if snapshot.trouble is not None:
        found.append(Attention(f"The ledger cannot be read: {snapshot.trouble.why}.", snapshot.trouble.hint))
    if snapshot.state_trouble is not None:
        error = snapshot.state_trouble
        found.append(Attention(f"{error.message}: {error.why}.", error.hint))
    if snapshot.free is not None and snapshot.free < FREE_BYTES:
        found.append(Attention("The disk is nearly full: no agent is started.", "push doctor --fix"))
    if snapshot.files.get("push.db-wal", 0) > _BIG_WAL_BYTES:
        found.append(Attention("push.db-wal is big: something keeps an old view of push.db open.", "push doctor"))
    return found


def _of_loops(snapshot: Snapshot) -> list[Attention]:
    found = []
    for holder in snapshot.holders:
        for name, (beat, _) in holder.loops.items():
            if name in _BEATING and snapshot.at - beat > _LATE_MS:
                silent = (
                    f"The loop {name} of process {holder.pid} has been silent for {(snapshot.at - beat) // 1000} s."
                )
                found.append(Attention(silent, "push doctor"))
    return found


def _unread(channel: ChannelState, at: int) -> str:
    if channel.deaf_since is None:
        return "is not being read"
    return f"has not been read for {_minutes(at, channel.deaf_since)}"


def _of_backlog(backlog: Backlog, at: int) -> list[Attention]:
    found = []
    if backlog.postponed:
        found.append(
            Attention(f"{backlog.postponed} {_plural(backlog.postponed, 'turn')} postponed.", "push retries list")
        )
    found += [
        Attention(f"{paused.conversation} is paused; {paused.waiting} waiting.", hints.resume(paused.conversation))
        for paused in backlog.paused[:MOST_PAUSED]
    ]
    if len(backlog.paused) > MOST_PAUSED:
        found.append(Attention(f"{len(backlog.paused)} conversations are paused.", "push conversations list"))
    if backlog.held.rows:
        count = backlog.held.rows
        what = f"{count} {_plural(count, 'message or answer', 'messages and answers')} of before the restore held."
        found.append(Attention(what, "push retries list"))
    found += _of_answers(backlog, at)
    for state, meaning in (("failed", "failed for good"), ("unknown", "may have arrived, or not")):
        count = backlog.stuck.get(state, 0)
        if count:
            found.append(
                Attention(f"{count} {_plural(count, 'delivery', 'deliveries')} {meaning}.", "push retries list")
            )
    for count, one, many in (
        (backlog.repeated, "delivery possibly arrived twice", "deliveries possibly arrived twice"),
        (backlog.failed_turns, "turn failed", "turns failed"),
        (backlog.rejected, "update could not be stored", "updates could not be stored"),
    ):
        if count:
            more = " or more" if count == MOST_FAILED else ""
            found.append(Attention(f"{count}{more} {_plural(count, one, many)}.", "push retries list"))
    return found


def _of_answers(backlog: Backlog, at: int) -> list[Attention]:
    """Answers that wait for a terminal, and a channel that has not taken one for minutes."""
    found = []
    oldest = backlog.oldest_delivery
    if oldest is None or at - oldest <= _SOON_MS:
        return []
    for channel, target, count in backlog.waiting_for:
        if channel == "local":
            text = f"{count} {_plural(count, 'answer')} for {target} waiting for a terminal to print."
            found.append(Attention(text, f"push chat --user {target}"))
    count = sum(count for channel, _, count in backlog.waiting_for if channel != "local")
    if count and at - oldest > _LATE_ANSWER_MS:
        text = (
            f"{count} {_plural(count, 'answer')} on the way, the oldest for {_minutes(at, oldest)}. "
            "A chat takes about one a second."
        )
        found.append(Attention(text, "push retries list"))
    return found


def _minutes(at: int, since: int) -> str:
    return f"{(at - since) // 60_000} min"


def _plural(count: int, one: str, many: str | None = None) -> str:
    return one if count == 1 else many or f"{one}s"
