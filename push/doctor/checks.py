"""The checks of `push doctor`, in the order in which one builds on the other.

Owns what is checked and how it is repaired; runs no agent, connects to channels that are on and nothing else, and
prints no secret. Does not own the proof that nothing was lost (`push verify`).
"""

from __future__ import annotations

import glob
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path

from push import assistant, config
from push.config.settings import EMBEDDED_AGENTS, Settings
from push.doctor.findings import Finding, Status
from push.errors import ConfigError, PushError
from push.gateway import commands
from push.ledger import arrivals, backlog, engine, sessions
from push.ledger.database import Database
from push.model.values import Session
from push.paths import DIR_MODE, FILE_MODE, default_home
from push.state import StateCorrupt, StateFile

_DISK_FAILED = 100 * 1024**2  # bytes; an answer of an agent may have 64 MiB
_DISK_WARNING = 1024**3
_FIX = "push doctor --fix"
_SECRET_KEYS = frozenset({"telegram.bot_token", "voice.openai_api_key", "sentry.dsn"})


def examine(explicit: Path | None) -> Iterator[Finding]:
    """Check one thing after the other; repair each finding before asking for the next."""
    try:
        settings = config.load_or_default(explicit)
    except ConfigError as exc:
        yield _failed("config", exc)
        yield from _room(default_home())
        yield _sqlite()
        return
    where = settings.path or "no file: the embedded default, the terminal alone"
    yield Finding("config", Status.OK, str(where))
    yield from _permissions(settings)
    yield from _room(settings.home.root)
    yield _sqlite()
    yield _ledger(settings)
    yield _state(settings)
    yield from _agents(settings)
    yield _soul(settings)
    yield from _deliveries(settings)
    if "telegram" in settings.channels:
        from push.doctor import telegram  # brings an HTTP client along

        yield from telegram.examine(settings)


def _failed(check: str, exc: PushError, repair: Callable[[], str] | None = None) -> Finding:
    message = "\n".join(("; ".join(text for text in (exc.message, exc.why) if text), *exc.details))
    hint = "" if exc.hint == "push doctor" else exc.hint
    return Finding(check, Status.FAILED, message, hint, repair)


def _permissions(settings: Settings) -> Iterator[Finding]:
    """Nobody else may look into the home, and we may write to it."""
    wrong, foreign = [], []
    for path in _private(settings):
        status = path.stat()
        closed_to_us = path != settings.path and not (
            status.st_mode & FILE_MODE == FILE_MODE and os.access(path, os.R_OK | os.W_OK)
        )
        if status.st_uid != os.geteuid():
            foreign.append(path)
        elif closed_to_us or stat.S_IMODE(status.st_mode) & 0o077:
            wrong.append(path)
    for path in foreign:
        yield Finding("permissions", Status.FAILED, f"{path} belongs to another user", f"ls -ld {path}")
    if wrong:
        names = ", ".join(map(str, wrong))
        message = f"not private, or not ours to write: {names}"
        yield Finding("permissions", Status.FAILED, message, _FIX, partial(_make_private, wrong))
    elif not foreign:
        yield Finding("permissions", Status.OK, f"{settings.home.root}: nobody else may look into it")


def _private(settings: Settings) -> list[Path]:
    """What exists of the home, its locks and logs included, and a configuration with secrets in it."""
    named: list[Path] = [getattr(settings.home, field.name) for field in fields(settings.home)]
    found = [*named]
    for path in named:
        if path.is_file():  # push.db-wal, push.db.writer, state.json.lock
            found += sorted(path.parent.glob(f"{glob.escape(path.name)}[-.]*"))
    for folder in (settings.home.run, settings.home.logs):
        found += [path for path in sorted(folder.rglob("*")) if path.is_dir() or path.is_file()]
    if settings.path and settings.written & _SECRET_KEYS:
        found.append(settings.path)
    return [path for path in found if path.exists()]


def _make_private(paths: list[Path]) -> str:
    for path in paths:
        path.chmod(DIR_MODE if path.is_dir() else FILE_MODE)
    return f"made private: {', '.join(map(str, paths))}"


def _room(root: Path) -> Iterator[Finding]:
    """Room on the disk, in a folder in which we may write."""
    there = next(path for path in (root, *root.parents) if os.path.exists(path))  # noqa: PTH110 - Path's raises
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = f"{there} is not a folder that we may write to"
        if there == root:
            yield Finding("disk", Status.FAILED, why, f"ls -ld {there}")
        else:
            yield Finding("disk", Status.FAILED, f"{root} cannot be made: {why}", "set PUSH_HOME to a folder of yours")
        return
    free = shutil.disk_usage(there).free
    status = Status.FAILED if free < _DISK_FAILED else Status.WARNING if free < _DISK_WARNING else Status.OK
    hint = "" if status is Status.OK else f"df -h {there}"
    yield Finding("disk", status, f"{free // 1024**2} MiB free at {there}", hint)


def _sqlite() -> Finding:
    version = engine.version()
    name = f"SQLite {'.'.join(map(str, version))}"
    if engine.has_wal_reset_fault(version):
        message = f"{name} can damage a database that several processes use (fixed in 3.51.3)"
        return Finding("sqlite", Status.WARNING, message, "python -m pip install cysqlite")
    return Finding("sqlite", Status.OK, name)


def _ledger(settings: Settings) -> Finding:
    path = settings.home.push_db
    try:
        db = Database.open_existing(path)
        if db is None:
            return Finding("ledger", Status.OK, f"{path}: none yet")
        damage = db.one("PRAGMA quick_check(1)")
        db.close()
    except PushError as exc:
        return _failed("ledger", exc)
    if damage != ("ok",):
        return Finding("ledger", Status.FAILED, f"{path} is damaged", "push verify")
    return Finding("ledger", Status.OK, str(path))


def _state(settings: Settings) -> Finding:
    file = StateFile(settings.home.state)
    try:
        state = file.read()
    except StateCorrupt as exc:
        return _failed("state", exc, partial(_rebuild, settings, file))
    except PushError as exc:
        return _failed("state", exc)
    return Finding("state", Status.OK, f"{file.path}: {len(state.sessions)} sessions")


def _rebuild(settings: Settings, file: StateFile) -> str:
    """Write state.json anew from push.db."""
    db = Database.open_existing(settings.home.push_db)
    known: dict[str, Session] = {}
    cursors: dict[str, tuple[str, int]] = {}
    if db is not None:
        known = sessions.last_sessions(db, commands.ends_session)
        cursors = {at.channel: (at.owner, at.position) for at in arrivals.positions(db)}  # the last owner counts
        db.close()
    kept = file.rebuild(known, cursors)
    count = sum(session.uuid is not None for session in known.values())
    return f"{file.path} rebuilt from the ledger with {count} sessions; the old file is {kept}"


def _deliveries(settings: Settings) -> Iterator[Finding]:
    """Answers that reached nobody, or perhaps not."""
    try:
        db = Database.open_existing(settings.home.push_db)
        if db is None:
            return
        stuck = backlog.read(db).stuck
        db.close()
    except PushError:
        return  # the check of the ledger tells it
    for state, meaning in (("failed", "could not be delivered"), ("unknown", "may have arrived, or not")):
        if stuck.get(state):
            answers = "1 answer" if stuck[state] == 1 else f"{stuck[state]} answers"
            yield Finding("deliveries", Status.WARNING, f"{answers} {meaning}", "push retries list")


def _agents(settings: Settings) -> Iterator[Finding]:
    wanted = {settings.agent, *(route.agent for route in settings.routes)} - {""}
    for name in sorted(wanted):
        yield _program(name, next(iter(settings.bin_for(name)), ""))
    if not wanted:
        present = [name for name in EMBEDDED_AGENTS if shutil.which(name)]
        yield Finding("agent", Status.OK, f"on PATH: {', '.join(present) or 'none, the demonstration answers'}")


def _program(name: str, program: str) -> Finding:
    if found := shutil.which(program):
        return Finding("agent", Status.OK, f"{name}: {found}")
    if blocked := shutil.which(program, mode=os.F_OK):
        return Finding("agent", Status.FAILED, f"{name}: {blocked} is not executable", f"chmod +x {blocked}")
    hint = f"install it, or set {'command' if name == 'command' else f'{name}_bin'} in config.toml to where it is"
    where = "does not exist" if "/" in program else "is not found on PATH"
    return Finding("agent", Status.FAILED, f"{name}: {program or 'its program'} {where}", hint)


def _soul(settings: Settings) -> Finding:
    if "assistant_root" not in settings.written and not settings.assistant_root.exists():
        return Finding("assistant", Status.OK, f"{settings.assistant_root}: made at the first `push chat`")
    try:
        text = assistant.compose(settings.assistant_root)
    except ConfigError as exc:
        return _failed("assistant", exc)
    return Finding("assistant", Status.OK, f"{settings.assistant_root}: instructions of {len(text)} characters")
