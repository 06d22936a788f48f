"""The file of a backup: a tar, or a tar in gzip, with the manifest first and then the files that it names.

Owns the form, and that a file of unknown origin does no harm: nothing but plain files of known names and announced
sizes is ever unpacked, and no header is followed into memory. Does not own what the files mean.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from push.backup import manifest as manifests
from push.backup.manifest import FILES, LARGEST, Manifest
from push.backup.staging import require_room
from push.errors import Failed
from push.ledger.verify import Damage
from push.paths import open_private

#: A file of this ending is a plain tar; every other one is packed.
PLAIN = ".tar"
_LEVEL = 4  # of gzip: the best ones take three times as long for a twentieth less
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"

Watch = Callable[[str], None]


class Unpacked(NamedTuple):
    """What was found; without a manifest it is no backup, or nothing in it can be trusted."""

    manifest: Manifest | None
    damages: tuple[Damage, ...]


class _Broken(Exception):
    """The archive is damaged so that reading on makes no sense."""

    def __init__(self, code: str, member: str, sentence: str) -> None:
        super().__init__(code)
        self.damage = Damage(code, member, sentence)


# -- writing ---------------------------------------------------------------------------------------------------------


def digest(file: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write(target: Path, manifest: Manifest, folder: Path, watch: Watch) -> None:
    """Write a new file (0600) with the manifest and its files, which are in `folder`, and let it be on disk."""
    with os.fdopen(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        if target.name.endswith(PLAIN):
            _write_members(file, manifest, folder, watch)
        else:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_LEVEL, mtime=0, filename="") as packed:
                _write_members(packed, manifest, folder, watch)
        file.flush()
        os.fsync(file.fileno())


def _write_members(stream: BinaryIO | gzip.GzipFile, manifest: Manifest, folder: Path, watch: Watch) -> None:
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        data = manifest.encode()
        tar.addfile(_info(manifests.NAME, len(data)), io.BytesIO(data))
        for name, member in manifest.files.items():
            with (folder / name).open("rb") as source:
                tar.addfile(_info(name, member.size), _Watched(source, name, member.size, watch))


def _info(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info


class _Watched(io.RawIOBase):
    """A file that tells how far it was read."""

    def __init__(self, source: BinaryIO, name: str, size: int, watch: Watch) -> None:
        super().__init__()
        self._source, self._name, self._size, self._watch = source, name, size, watch
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._source.read(size)
        self._read += len(data)
        self._watch(f"packing {self._name}, {100 * self._read // max(self._size, 1)} %")
        return data


# -- reading ---------------------------------------------------------------------------------------------------------


def unpack(file: Path, folder: Path, watch: Watch) -> Unpacked:
    """Unpack a backup into `folder`, and name every damage.

    Raises Failed where there is no such file, DependencyError where a newer Push has made it, TemporaryError where the
    disk does not take it.
    """
    with _opened(file) as plain:
        packed = plain.read(2) == _GZIP
        plain.seek(0)
        try:
            if packed:
                with gzip.GzipFile(fileobj=plain, mode="rb") as stream:
                    return _Reader(stream, folder, watch).run()
            return _Reader(plain, folder, watch).run()
        except _Broken as exc:
            return Unpacked(None, (exc.damage,))


def _opened(file: Path) -> BinaryIO:
    try:
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as exc:
        raise _unreadable(file, exc.strerror or type(exc).__name__) from exc
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _unreadable(file, "it is not a regular file")
    return os.fdopen(fd, "rb")


def _unreadable(file: Path, why: str) -> Failed:
    return Failed(f"cannot read {file}", why=why, hint=f"ls -l {file}", code="backup_unreadable")


class _Reader:
    """Reads one archive from its beginning to its end."""

    def __init__(self, stream: BinaryIO | gzip.GzipFile, folder: Path, watch: Watch) -> None:
        self._stream = stream
        self._folder = folder
        self._watch = watch

    def run(self) -> Unpacked:
        found = manifests.decode(self._exactly(self._member(manifests.NAME, LARGEST), manifests.NAME))
        if isinstance(found, str):
            raise _Broken("archive_manifest", manifests.NAME, found)
        damages = []
        for name, member in found.files.items():
            size = self._member(name, FILES[name])
            if size != member.size:
                raise _Broken("archive_size", name, f"it has {size:,} bytes; the manifest says {member.size:,}")
            if self._unpack(name, size) != member.sha256:
                damages.append(Damage("archive_hash", name, "its content is not what was backed up"))
        self._end()
        return Unpacked(found, tuple(damages))

    def _member(self, name: str, largest: int | None) -> int:
        """The size of the next member, which must be the plain file `name`."""
        is_first = name == manifests.NAME
        block = self._read(tarfile.BLOCKSIZE)
        if len(block) < tarfile.BLOCKSIZE:
            if is_first:
                raise self._foreign()
            raise _Broken("archive_truncated", name, "the archive ends before it")
        if not is_first and not block.strip(b"\0"):
            raise _Broken("archive_incomplete", name, "it is not there")
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            if is_first:
                raise self._foreign() from None
            raise _Broken("archive_damaged", name, "what stands in its place is damaged") from None
        if info.name != name or info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.linkname:
            if is_first:
                raise self._foreign()
            what = f"{info.name[:100]!r} stands there, which no backup has there"
            raise _Broken("archive_member", name, what if info.name != name else "it is not a plain file")
        if info.size < 0 or (largest is not None and info.size > largest):
            raise _Broken("archive_size", name, f"it claims to have {info.size:,} bytes")
        return info.size

    def _foreign(self) -> _Broken:
        return _Broken("archive_foreign", "the file", "it is no backup of Push")

    def _unpack(self, name: str, size: int) -> str:
        """Write a member into the folder; returns its SHA-256."""
        require_room(self._folder, size)
        seen = hashlib.sha256()
        with os.fdopen(open_private(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            left = size
            while left:
                data = self._some(min(left, _CHUNK), name)
                file.write(data)
                seen.update(data)
                left -= len(data)
                self._watch(f"unpacking {name}, {100 * (size - left) // size} %")
        self._padding(size, name)
        return seen.hexdigest()

    def _exactly(self, size: int, name: str) -> bytes:
        data = b""
        while len(data) < size:
            data += self._some(size - len(data), name)
        self._padding(size, name)
        return data

    def _padding(self, size: int, name: str) -> None:
        rest = -size % tarfile.BLOCKSIZE
        while rest:
            data = self._some(rest, name)
            if data.strip(b"\0"):
                raise _Broken("archive_damaged", name, "what stands behind it is damaged")
            rest -= len(data)

    def _end(self) -> None:
        """Zeros, and no more of them than a tar has; reading them lets gzip compare its checksum."""
        rest = b""
        while data := self._read(tarfile.RECORDSIZE + 1):
            rest += data
            if len(rest) > 2 * tarfile.RECORDSIZE or rest.strip(b"\0"):
                raise _Broken("archive_member", "the end", "more stands behind the last file than a backup has")
        if len(rest) < 2 * tarfile.BLOCKSIZE:
            raise _Broken("archive_truncated", "the end", "the archive has no end")

    def _some(self, size: int, name: str) -> bytes:
        data = self._read(size)
        if not data:
            raise _Broken("archive_truncated", name, "the archive ends in the middle of it")
        return data

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except EOFError:
            raise _Broken("archive_truncated", "the file", "it ends before what was packed does") from None
        except (zlib.error, gzip.BadGzipFile):
            raise _Broken("archive_damaged", "the file", "gzip cannot read it on") from None
