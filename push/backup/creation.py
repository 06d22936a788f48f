"""Making a backup beside a gateway that works. Does not own the archive's form (`push.backup.archive`)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from push import __version__, clock, programs
from push.backup import archive, configuration
from push.backup.manifest import FILES, Manifest, Member, is_address
from push.backup.staging import Staging, require_room
from push.config import source
from push.config.settings import Settings
from push.errors import ConflictError
from push.ledger import copying
from push.ledger.copying import Copied
from push.ledger.database import Database
from push.ledger.schema import VERSION
from push.paths import Home, open_private, sync_folder
from push.seams import seam
from push.state import StateFile

_STAGING = "push-backup"
_LOOK_SECONDS = 0.2
_GIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Wish:
    """Where the backup goes, and whether the configuration's secrets go into it."""

    file: Path
    with_secrets: bool = False


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made. `size` is bytes."""

    file: Path
    size: int
    manifest: Manifest


def default_name() -> str:
    """The name of a backup that is made now."""
    return f"push-backup-{clock.now():%Y%m%dT%H%M%SZ}.tar.gz"


def create(settings: Settings, wish: Wish, watch: Callable[[str], None]) -> Backup:
    """Write the state of a home into one new file. `watch` is told what is being done.

    Raises ConflictError where the file is there already, TemporaryError where there is no room, StateCorrupt where
    state.json is damaged, Failed where a secret cannot be taken out of the configuration.
    """
    target = wish.file.expanduser().absolute()
    if os.path.lexists(target):
        raise _taken(target)
    with Staging(target.parent, _STAGING) as staging:
        require_room(staging.path, 2 * _sizes(settings.home))
        config = _config(settings, wish)
        if config is not None:
            _write(staging.path / "config.toml", config.encode())
        _copy_state(settings.home, staging.path)  # before push.db, so that it is never ahead of the rows
        copied = _copy_ledger(settings.home.push_db, staging.path / "push.db", watch)
        manifest = _manifest(settings, wish, staging.path, copied)
        packed = staging.path / f"packed{archive.PLAIN if target.name.endswith(archive.PLAIN) else ''}"
        archive.write(packed, manifest, staging.path, watch)
        seam("backup.packed")
        _place(packed, target)
    return Backup(target, target.stat().st_size, manifest)


def _taken(target: Path) -> ConflictError:
    return ConflictError(
        f"{target} is there already", why="a backup overwrites nothing", hint="push backup create", code="file_exists"
    )


def _sizes(home: Home) -> int:
    found = 0
    for file in (home.push_db, home.push_db.with_name(home.push_db.name + "-wal"), home.state):
        with suppress(OSError):
            found += file.stat().st_size
    return found


def _config(settings: Settings, wish: Wish) -> str | None:
    if settings.path is None:
        return None
    text = source.read(settings.path)
    return text if wish.with_secrets else configuration.without_secrets(text, settings.secret_values())


def _copy_state(home: Home, folder: Path) -> None:
    StateFile(home.state).read()  # a damaged one is to be repaired, and not kept
    with suppress(FileNotFoundError):
        _write(folder / "state.json", home.state.read_bytes())


def _copy_ledger(path: Path, target: Path, watch: Callable[[str], None]) -> Copied:
    db = Database.open_existing(path)
    if db is None:
        return Copied(VERSION, 0, 0)
    done: list[Copied | BaseException] = []

    def work() -> None:
        try:
            done.append(copying.copy(db, target))
        except BaseException as exc:  # noqa: BLE001 - raised again where it is waited for
            done.append(exc)

    thread = threading.Thread(target=work, name="copy", daemon=True)  # Ctrl-C does not wait for it
    thread.start()
    size = path.stat().st_size
    while thread.is_alive():
        share = target.stat().st_size / size if target.exists() and size else 0
        watch(f"copying the ledger, {min(int(100 * share), 99)} %")
        thread.join(_LOOK_SECONDS)
    db.close()
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]


def _manifest(settings: Settings, wish: Wish, folder: Path, copied: Copied) -> Manifest:
    found = [folder / name for name in FILES if (folder / name).exists()]
    return Manifest(
        created_at=clock.iso(clock.now_ms()) or "",
        push=__version__,
        schema=copied.schema,
        turns=copied.turns,
        deliveries=copied.deliveries,
        home=str(settings.home.root),
        assistant_root=str(settings.assistant_root),
        assistant_origin=_origin(settings.assistant_root),
        with_secrets=wish.with_secrets,
        secrets=configuration.named_secrets(settings),
        files={file.name: Member(file.stat().st_size, archive.digest(file)) for file in found},
    )


def _origin(root: Path) -> str:
    """Where git has a folder from; "" where it has no such place, or the address holds a credential."""
    done = programs.run(("git", "-C", str(root), "remote", "get-url", "origin"), seconds=_GIT_SECONDS)
    address = done.out.strip() if isinstance(done, programs.Completed) and done.code == 0 else ""
    return address if is_address(address) and configuration.redacted(address, ()) == address else ""


def _write(file: Path, data: bytes) -> None:
    with os.fdopen(open_private(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as stream:
        stream.write(data)


def _place(packed: Path, target: Path) -> None:
    """Give the whole file its name, unless that was taken meanwhile."""
    try:
        os.link(packed, target)
    except OSError:  # the name is taken, or the file system has no links
        if os.path.lexists(target):
            raise _taken(target) from None
        packed.rename(target)
    sync_folder(target.parent)
