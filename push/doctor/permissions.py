"""Nobody else may look into the home, and we may write to it. Does not own whether there is room (`machine`)."""

from __future__ import annotations

import glob
import os
import pwd
import shlex
import stat
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path

from push.config.settings import Settings
from push.doctor.findings import Finding, failed, fine, repairable
from push.paths import DIR_MODE, FILE_MODE

_CHECK = "permissions"
_FILES = frozenset({"push_db", "queue_db", "state", "audit"})
_SECRET_KEYS = frozenset({"telegram.bot_token", "voice.openai_api_key", "sentry.dsn"})


def look(settings: Settings) -> Iterator[Finding]:
    """What exists of the home, and a configuration with secrets in it."""
    yield from _misplaced(settings)
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
    if foreign:
        yield _of_another(settings.home.root, foreign)
    if wrong:
        message = f"not private, or not ours to write: {', '.join(map(str, wrong))}"
        yield repairable(failed(_CHECK, "not_private", message), partial(_make_private, wrong))
    elif not foreign:
        yield fine(_CHECK, f"{settings.home.root}: nobody else may look into it")


def _misplaced(settings: Settings) -> Iterator[Finding]:
    """What stands where a file, or a folder, of Push's belongs. An audit log may be a device, or a pipe."""
    for field in fields(settings.home):
        path: Path = getattr(settings.home, field.name)
        is_file = field.name in _FILES
        is_pipe = path.is_fifo() and field.name != "audit"
        if path.exists() and (path.is_dir() or is_pipe if is_file else not path.is_dir()):
            wanted = "a file" if is_file else "a folder"
            message = f"{path} is none, where {wanted} of Push's belongs"
            away = " ".join(shlex.quote(str(name)) for name in (path, f"{path}.old"))
            yield failed(_CHECK, "misplaced", message, f"mv {away}")


def _of_another(root: Path, foreign: list[Path]) -> Finding:
    """A whole home of another user's is used as that user; a file that he left in ours is given back."""
    if root in foreign:
        owner = _name(root.stat().st_uid)
        return failed(_CHECK, "home_of_another", f"{root} belongs to the user {owner}", f"sudo -u {owner} push doctor")
    names = ", ".join(map(str, foreign))
    message = f"of another user, so that we cannot keep it: {names}"
    paths = " ".join(shlex.quote(str(path)) for path in foreign)
    return failed(_CHECK, "file_of_another", message, f"sudo chown {_name(os.geteuid())} {paths}")


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"'#{uid}'"


def _private(settings: Settings) -> list[Path]:
    named: list[Path] = [getattr(settings.home, field.name) for field in fields(settings.home)]
    found = [*named]
    for path in named:
        if path.is_file():  # push.db-wal, push.db.writer, state.json.lock
            found += sorted(path.parent.glob(f"{glob.escape(path.name)}[-.]*"))
    for folder in (settings.home.run, settings.home.logs):
        found += sorted(folder.rglob("*"))
    if settings.path and settings.written & _SECRET_KEYS:
        found.append(settings.path)
    return [path for path in found if path.is_dir() or path.is_file()]  # an audit log may be /dev/null, which is all's


def _make_private(paths: list[Path]) -> str:
    for path in paths:
        path.chmod(DIR_MODE if path.is_dir() else FILE_MODE)
    return f"made private: {', '.join(map(str, paths))}"
