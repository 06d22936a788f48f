"""The machine: HOME, room on the disk, SQLite, the time zone, the limit of open files.

Owns what is asked of the operating system; does not own who may read what (`permissions`).
"""

from __future__ import annotations

import errno
import os
import pwd
import re
import resource
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from push import environ
from push.config.settings import Settings
from push.doctor import tidying
from push.doctor.findings import Finding, failed, fine, repairable, warning
from push.ledger import engine
from push.paths import open_private

_MIB = 1024**2
_DISK_FAILED = 100 * _MIB  # bytes; an answer of an agent may have 64 MiB
_DISK_WARNING = 1024 * _MIB
_INODES_FAILED, _INODES_WARNING = 1000, 10_000
_PROBE_BYTES = 64 * 1024
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_OF_A_RUN, _OF_A_PROCESS = 8, 128  # descriptors, generously
_ENOUGH_FILES = 4096
_POSIX_ZONE = re.compile(r"[A-Za-z]{3,}[+-]?\d|<")  # a rule instead of a name: CET-1CEST


def home() -> Iterator[Finding]:
    """The agents keep their logins in HOME; nothing is said where it is in order."""
    told = environ.get("HOME")
    try:
        known = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        known = ""
    if told and Path(told).is_dir():
        return
    message = f"HOME is {told}, which is no folder" if told else "HOME is not set"
    if known and Path(known).is_dir():
        yield warning("home", "home_wrong", f"{message}: agents find no login", f"export HOME={shlex.quote(known)}")
    elif not environ.get("PUSH_HOME"):
        yield failed("home", "home_unknown", f"{message}, and PUSH_HOME is not set", 'export PUSH_HOME="$PWD/.push"')
    else:
        yield warning(
            "home", "home_wrong", f"{message}: agents find no login", f"export HOME={environ.get('PUSH_HOME')}"
        )


def room(root: Path, settings: Settings | None = None) -> Iterator[Finding]:
    """Room on the disk, in a folder in which we may write. `settings` say what may be tidied."""
    there = next(path for path in (root, *root.parents) if os.path.exists(path))  # noqa: PTH110 - Path's raises
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield _closed(root, there)
        return
    refused = _write(root) if there == root else None
    if refused is not None and refused.errno not in _FULL:
        yield failed("disk", "not_writable", f"{root} takes no file: {refused.strerror}", f"findmnt -T {_quoted(root)}")
        return
    disk = os.statvfs(there)
    free, inodes = disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else _INODES_WARNING
    if refused is None and free >= _DISK_WARNING and inodes >= _INODES_WARNING:
        yield fine("disk", f"{free // _MIB} MiB free at {there}")
        return
    left = f"{free // _MIB} MiB" if inodes >= _INODES_WARNING else f"{free // _MIB} MiB and {inodes} files"
    full = refused is not None or free < _DISK_FAILED or inodes < _INODES_FAILED
    report = failed if full else warning
    found = report("disk", "disk_full" if full else "disk_low", f"{left} free at {there}: {tidying.kept(there, root)}")
    yield repairable(found, partial(tidying.make_room, settings, _DISK_FAILED)) if settings else found


def _closed(root: Path, there: Path) -> Finding:
    why = f"{there} is not a folder that we may write to"
    if there == root:
        return failed("disk", "not_writable", why, f"ls -ld {_quoted(there)}")
    return failed("disk", "no_home", f"{root} cannot be made: {why}", 'export PUSH_HOME="$HOME/.push"')


def _write(root: Path) -> OSError | None:
    """Whether a file can really be written there and reach the disk. Nothing of it stays."""
    path = root / f".doctor-{os.getpid()}"
    try:
        fd = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except OSError as exc:
        return exc
    try:
        path.unlink()
        os.write(fd, bytes(_PROBE_BYTES))
        os.fsync(fd)
    except OSError as exc:
        return exc
    finally:
        os.close(fd)
    return None


def sqlite() -> Iterator[Finding]:
    """A SQLite that several processes may use."""
    version = engine.version()
    name = f"SQLite {'.'.join(map(str, version))}"
    if engine.has_wal_reset_fault(version):
        message = f"{name} can damage a database that several processes use (fixed in 3.51.3)"
        yield warning("sqlite", "sqlite_fault", message, _pip("cysqlite>=0.4,<0.5"))
    else:
        yield fine("sqlite", name)


def timezone() -> Iterator[Finding]:
    """The zone in which times are meant, and the list of zones for jobs."""
    name = (environ.get("TZ") or "").lstrip(":")
    if name and not name.startswith("/") and not _POSIX_ZONE.match(name) and not _is_zone(name):
        yield warning(
            "timezone", "zone_unknown", f"the time zone {name} of TZ is not known: it counts as UTC", "unset TZ"
        )
    elif name.startswith("/") and not Path(name).is_file():
        yield warning("timezone", "zone_unknown", f"TZ names {name}, which is not there: it counts as UTC", "unset TZ")
    elif not _is_zone("Europe/Berlin"):
        yield warning("timezone", "zones_missing", "this machine has no list of time zones", _pip("tzdata"))
    else:
        yield fine("timezone", name or "the machine's")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo.no_cache(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def descriptors(workers: int) -> Iterator[Finding]:
    """Files that a process may have open: a gateway with all its workers busy needs some for each."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _OF_A_PROCESS + _OF_A_RUN * workers
    if limit != resource.RLIM_INFINITY and limit < needed:
        target = _ENOUGH_FILES if most == resource.RLIM_INFINITY else min(max(_ENOUGH_FILES, needed), most)
        message = f"a process may open {limit} files; {workers} workers want {needed}"
        yield warning("descriptors", "few_descriptors", message, f"ulimit -n {target}")
    else:
        yield fine("descriptors", f"{limit} files may be open" if limit != resource.RLIM_INFINITY else "no limit")


def _pip(requirement: str) -> str:
    return f"{_quoted(sys.executable)} -m pip install {shlex.quote(requirement)}"


def _quoted(path: Path | str) -> str:
    return shlex.quote(str(path))
