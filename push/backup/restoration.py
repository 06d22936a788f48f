"""Bringing a backup up as a home of its own, in which what was open is held.

Owns that there is nothing, or a whole home, whenever it is killed; does not own holding (`push.ledger.held`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from push import environ
from push.backup import configuration
from push.backup.manifest import Manifest
from push.backup.staging import Staging, sync_files
from push.backup.verification import judge
from push.errors import ConflictError, Failed, TemporaryError
from push.ledger import held
from push.ledger.database import Database
from push.ledger.held import Held
from push.paths import FILE_MODE
from push.seams import seam


@dataclass(frozen=True, slots=True)
class Missing:
    """What the copy lacks, and the command with which it is supplied, or looked after."""

    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Restored:
    """A home that was restored. `notes` say what was changed in its configuration."""

    home: Path
    manifest: Manifest
    held: Held
    notes: tuple[str, ...]
    missing: tuple[Missing, ...]


def restore(file: Path, home: Path, watch: Callable[[str], None]) -> Restored:
    """Let `home`, which is absent or empty, be a copy of what was backed up.

    Raises ConflictError where anything is there, Failed where the backup is damaged, DependencyError where it is too
    new, TemporaryError where the disk does not take it.
    """
    home = Path(os.path.realpath(home.expanduser().absolute()))
    again = f"push backup restore {quote(str(file))} --to"
    _require_empty(home, again)
    with Staging(home.parent, home.name) as staging:
        verdict = judge(file, staging.path, watch)
        if verdict.manifest is None or verdict.damages:
            raise Failed(
                f"{file} is damaged: {verdict.damages[0].sentence}",
                why="nothing was restored",
                hint=f"push backup verify {quote(str(file))}",
                code="backup_damaged",
            )
        watch("holding what was open")
        found = _hold(staging.path)
        notes = _adapt(staging.path / "config.toml", verdict.manifest, home)
        for entry in staging.path.iterdir():
            entry.chmod(FILE_MODE)
        sync_files(staging.path)
        seam("restore.before_rename")
        _appear(staging, home, again)
        seam("restore.renamed")
    return Restored(home, verdict.manifest, found, notes, tuple(_missing(verdict.manifest, home)))


def _require_empty(home: Path, again: str) -> None:
    try:
        entries = sorted(entry.name for entry in home.iterdir())
    except FileNotFoundError:
        return
    except OSError as exc:
        raise _occupied(home, exc.strerror or type(exc).__name__, again) from exc
    if entries:
        raise _occupied(
            home, f"it holds {entries[0]}" + (f" and {len(entries) - 1} more" if entries[1:] else ""), again
        )


def _occupied(home: Path, why: str, again: str) -> ConflictError:
    beside = quote(str(home.with_name(f"{home.name}-restored")))
    return ConflictError(
        f"{home} is not empty, and restoring overwrites nothing",
        why=why,
        hint=f"{again} {beside}",
        code="home_not_empty",
    )


def _hold(folder: Path) -> Held:
    db = Database.open(folder / "push.db")
    try:
        return held.hold_everything(db)
    finally:
        db.close()
        (folder / "push.db.writer").unlink()


def _adapt(config: Path, manifest: Manifest, home: Path) -> tuple[str, ...]:
    if not config.exists():
        return ()
    found = configuration.adapted(config.read_text(), manifest, home)
    config.write_text(found.text)
    return found.notes


def _appear(staging: Staging, home: Path, again: str) -> None:
    """An empty folder is replaced, another one is not."""
    try:
        staging.become(home)
    except OSError as exc:
        _require_empty(home, again)
        raise TemporaryError(
            f"cannot give {home} its place: {exc.strerror}",
            why="the folder is a disk of its own, or its parent cannot be written",
            hint=f"{again} {quote(str(home / 'home'))}",
            code="home_in_the_way",
        ) from exc


def _missing(manifest: Manifest, home: Path) -> Iterator[Missing]:
    there = f"PUSH_HOME={quote(str(home))}"
    if not manifest.with_secrets:
        for name, variable in manifest.secrets.items():
            if environ.get(variable) is None:
                what = f"{name}: secrets are not in the backup; put it into {variable}, or into {home / 'config.toml'}"
                yield Missing(what, f"{there} push {'init' if name == 'telegram.bot_token' else 'doctor'}")
    root = Path(manifest.assistant_root)
    wanted = configuration.assistant_root(home) or root
    if not wanted.exists():
        place = quote(str(wanted))
        command = f"{there} push init {place}"
        if root.exists():
            command = f"cp -a {quote(str(root))} {place}"
        elif manifest.assistant_origin:
            command = f"git clone {quote(manifest.assistant_origin)} {place}"
        yield Missing(f"the assistant's folder {wanted}: it is yours, and not in the backup", command)
