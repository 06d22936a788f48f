"""Changing config.toml: single keys, with comments, order and everything else kept.

Owns that a file is replaced as a whole or not at all, and only by one that loads; does not own which keys are changed.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from push.config import legacy, source
from push.config.findings import InvalidConfig
from push.config.load import settings_of
from push.config.settings import Settings
from push.errors import ConflictError, TemporaryError
from push.paths import FILE_MODE, make_private, open_private, sync_folder, way_in

_HEAD = "# The settings of Push. `push config show` lists every key with its value.\n\n"

#: A dotted key (`telegram.bot_token`) -> its new value. Secrets come wrapped, and make the file private.
Changes = Mapping[str, str | list[str] | SecretStr]


@dataclass(frozen=True, slots=True)
class Draft:
    """What the file would be, checked: it loads as `settings`. `before` is the text that was changed, "" for none."""

    path: Path
    settings: Settings
    before: str = field(repr=False)
    text: str = field(repr=False)
    is_private: bool

    def save(self) -> bool:
        """Replace the file; whether anything changed. A symlink keeps pointing at it, and it keeps its mode.

        Raises ConflictError where somebody else changed it meanwhile, TemporaryError where it cannot be written.
        """
        if self.text == self.before:
            return False
        path = Path(os.path.realpath(self.path))
        make_private(path.parent)
        new = path.with_name(f".{path.name}.new")  # always the same: what a crash leaves is replaced by the next
        try:
            with _alone(path.parent):
                self._replace(path, new)
        except OSError as exc:
            raise TemporaryError(
                f"cannot write {self.path}: {exc.strerror}",
                why="the old file, if there was one, is as it was",
                hint=way_in(path, exc),
                code="config_not_written",
            ) from exc
        return True

    def _replace(self, path: Path, new: Path) -> None:
        try:
            with suppress(FileNotFoundError):
                new.unlink()
            with os.fdopen(open_private(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                os.fchmod(file.fileno(), self._mode(path))
                file.write(self.text.encode())
                file.flush()
                os.fsync(file.fileno())
            if current(path) != self.before:
                raise ConflictError(
                    f"{self.path} was changed by somebody else at this moment",
                    why="their change stands, and ours was not written",
                    hint="push init",
                    code="config_changed",
                )
            new.replace(path)
            sync_folder(path.parent)
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)

    def _mode(self, path: Path) -> int:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            return FILE_MODE
        return mode & FILE_MODE if self.is_private else mode


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let whoever else changes a configuration in this folder wait."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def current(path: Path) -> str:
    """The text of the file; "" where there is none. Raises ConfigError where it cannot be read."""
    try:
        return source.read(path)
    except source.ConfigMissing:
        return ""


def draft(path: Path, changes: Changes) -> Draft:
    """The file with `changes`, checked and not yet written. Raises ConfigError where the result would not load."""
    before = current(path)
    source.parse(path, before)  # for its place, which tomlkit does not tell as well
    text = _changed(before, changes)
    try:
        settings = settings_of(path, text)
    except InvalidConfig as exc:
        raise _as_written(path, before, exc) from None
    is_private = any(isinstance(value, SecretStr) for value in changes.values())
    return Draft(path, settings, before, text, is_private)


def _as_written(path: Path, before: str, error: InvalidConfig) -> InvalidConfig:
    """What was wrong before is told with the lines of the file as it is."""
    try:
        settings_of(path, before)
    except InvalidConfig as old:
        told = {(finding.path, finding.problem) for finding in error.findings}
        same = [finding for finding in old.findings if (finding.path, finding.problem) in told]
        return InvalidConfig(path, same) if same else error
    return error


def _changed(text: str, changes: Changes) -> str:
    if changes and not text:
        text = _HEAD
    for dotted, value in changes.items():
        text = _with(text, dotted, value.get_secret_value() if isinstance(value, SecretStr) else value)
    return text


def _with(text: str, dotted: str, value: str | list[str]) -> str:
    """The text with one key set. A key that is there keeps its place; a new one follows the others of its table."""
    import tomlkit

    document = tomlkit.parse(text)
    name, _, key = dotted.rpartition(".")
    flat = next((flat for flat, at in legacy.FLAT_KEYS.items() if at == (name, key) and flat in document), "")
    if flat:
        name, key = "", flat
    holder: Any = document.setdefault(name, tomlkit.table()) if name else document
    if holder.get(key) == value:
        return text
    line = None if key in holder else _line_for(text.split("\n"), name)
    if line is None:
        holder[key] = value
        return tomlkit.dumps(document)
    return _inserted(text, line, f"{key} = {tomlkit.item(value).as_string()}")


def _inserted(text: str, line: int, content: str) -> str:
    lines = text.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    follows = lines[line].strip() if line < len(lines) else ""
    apart = [end] if follows.startswith(("[", "#")) and (line == 0 or not lines[line - 1].strip()) else []
    return "\n".join([*lines[:line], content + end, *apart, *lines[line:]])


def _line_for(lines: list[str], table: str) -> int | None:
    """Before which line a new key of `table` ("": none) goes; None where no line of its own says `[table]`.

    tomlkit would put it behind the comment that introduces the next table.
    """
    headers = [number for number in range(len(lines)) if _is_header(lines, number)]
    start = 0
    if table:
        named = [number for number in headers if re.match(rf"\s*\[\s*{table}\s*\]", lines[number])]
        if not named:
            return None
        start = named[0] + 1
    end = next((number for number in headers if number >= start), len(lines))
    told = [number for number in range(start, end) if lines[number].strip()[:1] not in {"", "#"}]
    if told or table:
        place = (told or [start - 1])[-1] + 1
        return next(number for number in range(place, end + 1) if _is_whole(lines[:number]))
    remarks = next((number for number in range(end) if not lines[number].strip()), end)
    return min(remarks + 1, len(lines)) if remarks < end else 0  # behind what introduces the file as a whole


def _is_header(lines: list[str], number: int) -> bool:
    """Whether a line begins a table, and not merely looks so within a text of several lines."""
    return lines[number].lstrip().startswith("[") and _is_whole(lines[:number])


def _is_whole(lines: list[str]) -> bool:
    """Whether nothing that began in these lines goes on behind them."""
    try:
        tomllib.loads("".join(f"{line}\n" for line in lines))
    except tomllib.TOMLDecodeError:
        return False
    return True
