"""state.json: how far each channel was read, and which backend session each conversation has, in the spec's shape.

Does not own who may start, resume or rotate a session, nor how a channel finds its cursor.

The file is small, is read whole, and is nobody's cache: a reader takes no lock (the file is replaced atomically), and
a change reads, changes and replaces inside one lock on `state.json.lock`, which is never unlinked. A change that
changes nothing writes nothing. Keys that we do not know are kept.

Epochs. `/new` raises the conversation's epoch. A turn remembers the epoch that it began with, and may save its session
only while that is still the epoch, so that a turn from before `/new` cannot bring the old session back. A session that
was idle too long is dropped with its epoch; `epoch_floor`, the highest epoch ever dropped, is then the epoch of every
conversation without an entry, so the promise also holds across the drop (at worst a session is not saved, once).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from push import clock
from push.errors import ConfigError, TemporaryError
from push.locks import FileLock
from push.model.values import Session
from push.paths import FILE_MODE, make_private, open_private, sync_folder
from push.seams import seam

IDLE_DAYS = 90
_LOCK_SECONDS = 10.0
_OLD_CHANNEL = "imessage"  # the only one that files without `cursors` knew
_QUALIFIED = ("imessage:", "telegram:", "local:")

_Raw = dict[str, Any]

_TOP: dict[str, type] = {
    "last_row_id": int,
    "epoch_floor": int,
    "cursors": dict,
    "cursor_owner": dict,
    "sessions": dict,
}
_SESSION: dict[str, type] = {
    "uuid": str,
    "started": bool,
    "backend": str,
    "epoch": int,
    "work_dir": str,
    "instructions_sha256": str,
    "used_on": str,
}


_KINDS = {int: "a whole number", str: "a text", bool: "true or false", dict: "an object"}


class StateCorrupt(ConfigError):
    """state.json is damaged. Nothing was changed."""

    code = "state_corrupt"


@dataclass(frozen=True, slots=True)
class State:
    """What the file said at one instant. Sessions without an id (after `/new`) are not among `sessions`."""

    cursors: dict[str, int]
    cursor_owner: dict[str, str]
    sessions: dict[str, Session]


class StateFile:
    """The file at `path`. A missing file is the empty state.

    Every method raises StateCorrupt where the file is damaged, and TemporaryError where it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))  # the file is replaced, not a symbolic link to it
        self._lock_path = self.path.with_name(self.path.name + ".lock")
        self._fresh_path = self.path.with_name(self.path.name + ".new")

    def read(self) -> State:
        """All of it."""
        raw = self._load()
        sessions = {key: _session(entry) for key, entry in raw["sessions"].items()}
        return State(
            cursors=dict(raw["cursors"]),
            cursor_owner=dict(raw["cursor_owner"]),
            sessions={key: session for key, session in sessions.items() if session.uuid is not None},
        )

    def begin(self, conversation: str) -> tuple[int, Session | None]:
        """The epoch that a turn of this conversation begins with, and the session, both from one look at the file."""
        raw = self._load()
        entry = raw["sessions"].get(conversation)
        session = None if entry is None else _session(entry)
        return _epoch(raw, conversation), session if session is not None and session.uuid is not None else None

    def session(self, conversation: str) -> Session | None:
        """The conversation's session; None where there is none, or `/new` ended it.

        Of a file from before these were recorded, `work_dir`, `instructions_sha256` and `used_on` are empty.
        """
        return self.begin(conversation)[1]

    def epoch(self, conversation: str) -> int:
        """How often `/new` was said, as far as it matters: compare it for equality only."""
        return self.begin(conversation)[0]

    def save_session(self, conversation: str, session: Session, *, expected_epoch: int) -> bool:
        """Save the session, if the epoch is still `expected_epoch`; False, and nothing changed, otherwise.

        The session's `epoch` and `used_on` are set here (used_on: today). Call it after each turn: it writes only
        when something changed, at most once a day for a session that is only used, and keeps it from being dropped.
        """
        stamped = replace(session, epoch=expected_epoch, used_on=_today().isoformat())
        saved = False

        def change(raw: _Raw) -> bool:
            nonlocal saved
            saved = _epoch(raw, conversation) == expected_epoch
            return saved and _put_session(raw, conversation, stamped)

        self._change(change)
        return saved

    def reset_session(self, conversation: str) -> int:
        """Forget the session and raise the epoch (`/new`). Returns the new epoch."""
        epoch = 0

        def change(raw: _Raw) -> bool:
            nonlocal epoch
            epoch = _epoch(raw, conversation) + 1
            ended = Session(None, False, "", epoch, "", "", _today().isoformat())
            return _put_session(raw, conversation, ended)

        self._change(change)
        return epoch

    def set_cursor(self, channel: str, cursor: int, *, owner: str) -> None:
        """The channel was read, and its messages committed, up to `cursor`, which belongs to `owner`."""

        def change(raw: _Raw) -> bool:
            if raw["cursors"].get(channel) == cursor and raw["cursor_owner"].get(channel) == owner:
                return False
            raw["cursors"][channel] = cursor
            raw["cursor_owner"][channel] = owner
            if channel == _OLD_CHANNEL:
                raw["last_row_id"] = cursor
            return True

        self._change(change)

    def rebuild(self, sessions: Mapping[str, Session], cursors: Mapping[str, tuple[str, int]]) -> Path | None:
        """Replace the file by one with these sessions and cursors, whatever is in it (`push doctor --fix`).

        `cursors` holds per channel the owner and how far its messages were read. A session without an id keeps its
        conversation's epoch; one without `used_on` counts as used today.
        Returns where a copy of the old file was kept; None where there was none.
        """
        raw = _with_defaults({"cursors": {channel: cursor for channel, (_, cursor) in cursors.items()}})
        raw["cursor_owner"] = {channel: owner for channel, (owner, _) in cursors.items()}
        if _OLD_CHANNEL in cursors:
            raw["last_row_id"] = cursors[_OLD_CHANNEL][1]
        for conversation, session in sessions.items():
            _put_session(raw, conversation, replace(session, used_on=session.used_on or _today().isoformat()))
        with self._locked():
            kept = self._keep_copy()  # a copy, since a crash between a move and the replacement would be a silent reset
            self._replace(raw)
        return kept

    # -- the file ------------------------------------------------------------------------------------------------

    def _load(self) -> _Raw:
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):  # a pipe of that name would never end
                raise self._corrupt("it is not a regular file")
            data = self.path.read_bytes()
        except FileNotFoundError:
            return _with_defaults({})
        except OSError as exc:
            raise _io_error("read", self.path, exc) from exc
        try:
            raw = json.loads(data)
        except (ValueError, RecursionError) as exc:
            raise self._corrupt(f"it is not JSON: {exc}") from None
        problem = _shape_problem(raw)
        if problem:
            raise self._corrupt(problem)
        return _with_defaults(raw)

    def _corrupt(self, why: str) -> StateCorrupt:
        return StateCorrupt(f"{self.path} is damaged", why=why, hint="push doctor --fix")

    def _locked(self) -> FileLock:
        try:
            lock = FileLock.take(self._lock_path, wait_seconds=_LOCK_SECONDS)
        except OSError as exc:
            raise _io_error("lock", self.path, exc) from exc
        if lock is None:
            raise TemporaryError(
                f"{self._lock_path} was not free within {_LOCK_SECONDS:.0f} s",
                why="a process of Push is stuck while it changes state.json, or was stopped",
                hint="push status",
                code="state_locked",
            )
        return lock

    def _change(self, change: Callable[[_Raw], bool]) -> None:
        with self._locked():
            raw = self._load()
            if change(raw):
                _drop_idle(raw, _today())
                self._replace(raw)

    def _replace(self, raw: _Raw) -> None:
        data = json.dumps(raw, separators=(",", ":")).encode()
        try:
            _write_synced(self._fresh_path, data, os.O_TRUNC)
            seam("state.before_replace")
            self._fresh_path.replace(self.path)
            sync_folder(self.path.parent)
        except OSError as exc:
            with suppress(OSError):
                self._fresh_path.unlink()
            raise _io_error("write", self.path, exc) from exc
        seam("state.replaced")

    def _keep_copy(self) -> Path | None:
        kept = self.path.with_name(f"{self.path.name}.broken-{clock.now():%Y%m%dT%H%M%S.%fZ}")
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):
                return self.path.rename(kept)  # nothing in it is to be lost, and a folder stands in the way
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise _io_error("read", self.path, exc) from exc
        try:
            _write_synced(kept, data, os.O_EXCL)
        except OSError as exc:
            raise _io_error("write", kept, exc) from exc
        return kept


def _today() -> date:
    return clock.now().date()


def _io_error(verb: str, path: Path, exc: OSError) -> TemporaryError:
    return TemporaryError(
        f"cannot {verb} {path}: {exc.strerror}",
        why="Push keeps its cursors and sessions there, and changes nothing until it can.",
        hint="push doctor",
        code="state_io",
    )


def _write_synced(path: Path, data: bytes, flag: int) -> None:
    make_private(path.parent)
    fd = open_private(path, os.O_WRONLY | os.O_CREAT | flag)
    with os.fdopen(fd, "wb") as file:
        os.fchmod(fd, FILE_MODE)
        file.write(data)
        file.flush()
        os.fsync(fd)


# -- its content -----------------------------------------------------------------------------------------------------


def _with_defaults(raw: _Raw) -> _Raw:
    """Fill what is missing; an iMessage-only file gets its cursor and its keys qualified."""
    old = raw.get("last_row_id")
    if "cursors" not in raw and old is not None:
        raw["cursors"] = {_OLD_CHANNEL: old}
        sessions = raw.get("sessions", {})
        raw["sessions"] = {
            key if key.startswith(_QUALIFIED) else f"{_OLD_CHANNEL}:{key}": sessions[key] for key in sessions
        }
    for key in ("cursors", "cursor_owner", "sessions"):
        raw.setdefault(key, {})
    return raw


def _epoch(raw: _Raw, conversation: str) -> int:
    entry = raw["sessions"].get(conversation)
    epoch: int = raw.get("epoch_floor", 0) if entry is None else entry.get("epoch", 0)
    return epoch


def _session(entry: _Raw) -> Session:
    return Session(
        uuid=entry.get("uuid") or None,
        started=entry.get("started", False),
        backend=entry.get("backend", ""),
        epoch=entry.get("epoch", 0),
        work_dir=entry.get("work_dir", ""),
        instructions_sha256=entry.get("instructions_sha256", ""),
        used_on=entry.get("used_on", ""),
    )


def _put_session(raw: _Raw, conversation: str, session: Session) -> bool:
    """Put it among the sessions; whether that changed anything."""
    entry = raw["sessions"].setdefault(conversation, {})
    before = dict(entry)
    entry.update({name: getattr(session, name) for name in _SESSION})
    entry["uuid"] = session.uuid or ""  # the spec's uuid is a string
    return bool(entry != before)


def _drop_idle(raw: _Raw, today: date) -> None:
    oldest = (today - timedelta(days=IDLE_DAYS)).isoformat()
    sessions: dict[str, _Raw] = raw["sessions"]
    for key in list(sessions):
        used_on = sessions[key].setdefault("used_on", today.isoformat())  # not known: its days count from now
        if used_on < oldest:
            raw["epoch_floor"] = max(raw.get("epoch_floor", 0), sessions.pop(key).get("epoch", 0))


def _shape_problem(raw: object) -> str | None:
    """What is wrong with the parsed file, without quoting it; None where nothing is."""
    for what, value, kind in _expectations(raw):
        if type(value) is not kind:
            return f"{what} is not {_KINDS[kind]}"
        if what == "`used_on` of a session" and not _is_date(str(value)):
            return f"{what} is not a date"
    return None


def _expectations(raw: Any) -> Iterator[tuple[str, Any, type]]:
    """(what, value, the type it must have), outermost first: whoever stops at the first that fails may go deeper."""
    yield "the whole", raw, dict
    for key, kind in _TOP.items():
        if key in raw:
            yield f"`{key}`", raw[key], kind
    for key, kind in (("cursors", int), ("cursor_owner", str)):
        for value in raw.get(key, {}).values():
            yield f"a value of `{key}`", value, kind
    for entry in raw.get("sessions", {}).values():
        yield "an entry of `sessions`", entry, dict
        for key, kind in _SESSION.items():
            if key in entry:
                yield f"`{key}` of a session", entry[key], kind


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
