"""The audit log read from its end, across rotated files, and followed while it is being written.

Owns finding the newest records and noticing rotation; does not own writing (`push.audit`). A line that is no record is
counted, and passed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from push.appendlog import rotated


@dataclass(frozen=True, slots=True)
class Record:
    """What happened at an instant (milliseconds since 1970); `fields` is all else that was written."""

    at: int
    event: str
    fields: dict[str, Any]


@dataclass(slots=True)
class Trail:
    """The audit log at `path`, of which only `events` are wanted (all, where it is empty).

    `damaged` counts the lines that were no records. Use `newest` first, then `more` as often as you like.
    """

    path: Path
    events: frozenset[str] = frozenset()
    damaged: int = 0
    _file: BinaryIO | None = field(default=None, repr=False)
    _rest: bytes = b""

    def newest(self, count: int) -> list[Record]:
        """The newest records, at most `count`, the oldest of them first."""
        found: list[Record] = []
        self._file = _open(self.path)
        current = self._file.read() if self._file else b""
        whole, _, self._rest = current.rpartition(b"\n")
        for lines in self._backwards(whole):
            for line in reversed(lines):
                if len(found) == count:
                    break
                if (record := self._record(line)) is not None:
                    found.append(record)
        return found[::-1]

    def _backwards(self, current: bytes) -> Iterator[list[bytes]]:
        yield current.split(b"\n")
        for path in rotated(self.path):
            with suppress(OSError):  # removed, or rotated further, at this moment
                yield path.read_bytes().split(b"\n")

    def more(self) -> Iterator[Record]:
        """What was written since the last look, in its order, also into files that came in between."""
        yield from self._read_on()
        if self._file is None or _is_at(self.path, self._file):
            if self._file is None and (file := _open(self.path)) is not None:
                self._file = file
                yield from self._read_on()
            return
        yield from self._read_on()  # what was written between the look and the rotation
        for path in self._newer_files():
            if (file := _open(path)) is None:  # renamed, and not made anew yet: the next look finds it
                break
            self._file.close()
            self._file, self._rest = file, b""
            yield from self._read_on()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _newer_files(self) -> list[Path]:
        """The files that came after the one that we read, oldest first; the newest alone where ours is gone."""
        newest_first = [self.path, *rotated(self.path)]
        assert self._file is not None
        for place, path in enumerate(newest_first):
            if _is_at(path, self._file):
                return newest_first[:place][::-1]
        return [self.path]

    def _read_on(self) -> Iterator[Record]:
        if self._file is None:
            return
        if os.fstat(self._file.fileno()).st_size < self._file.tell():  # somebody emptied it
            self._file.seek(0)
            self._rest = b""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            if (record := self._record(line)) is not None:
                yield record

    def _record(self, line: bytes) -> Record | None:
        """None for what is not wanted, and for a damaged line, which is counted."""
        if not line.strip():
            return None
        try:
            fields = json.loads(line)
            record = Record(int(fields.pop("ts_ms")), str(fields.pop("event")), fields)
        except (ValueError, TypeError, KeyError, AttributeError):
            self.damaged += 1
            return None
        return record if not self.events or record.event in self.events else None


def _open(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Whether the open file is still, or now, the one of this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False
