"""The text of a configuration file: reading it, and the TOML in it.

Owns what an unreadable or garbled file is told, with line and column; does not own what the keys mean.
"""

from __future__ import annotations

import re
import shlex
import stat
import tomllib
from pathlib import Path
from typing import Any, NoReturn

from push.errors import ConfigError
from push.paths import default_home

CONFIG_NAME = "config.toml"
_LARGEST = 1 << 20  # bytes; a configuration has a few thousand
_PLAINER = {
    "Cannot overwrite a value": "this key is set a second time",
    "Illegal character '\\n'": "the text that began in this line has no closing quote",
}
_TOML_PLACE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)$")


class ConfigMissing(ConfigError):
    """There is no file at that path."""

    code = "config_missing"


def read(path: Path) -> str:
    """The text of the file. Raises ConfigError where it is missing, unreadable, or not UTF-8."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            _unreadable(path, "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file")
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        if path.is_symlink():
            _unreadable(path, "it is a symbolic link whose target does not exist")
        raise ConfigMissing(
            f"there is no configuration at {path}",
            why="settings are read from $PUSH_HOME/config.toml, or from the file that --config names; "
            "only `push chat` works without",
            hint=_init(path),
        ) from None
    except OSError as exc:
        _unreadable(path, exc.strerror or type(exc).__name__)
    if len(data) > _LARGEST:
        _unreadable(path, f"it has more than {_LARGEST} bytes")
    return _decode(path, data)


def _init(path: Path) -> str:
    is_usual = path == default_home() / CONFIG_NAME
    return "push init" if is_usual else f"push init --config {shlex.quote(str(path))}"


def _unreadable(path: Path, why: str) -> NoReturn:
    hint = f"ls -ld {shlex.quote(str(path))}"
    raise ConfigError(f"cannot read {path}", why=why, hint=hint, code="config_unreadable") from None


def _decode(path: Path, data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        _syntax(path, 1, 1, "the file is UTF-16", "save it as UTF-8")
    if data.startswith(b"\xef\xbb\xbf"):
        _syntax(path, 1, 1, "the file begins with a byte order mark", "save it as UTF-8 without BOM")
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        before = data[: exc.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        _syntax(path, before.count(b"\n") + 1, column, "the file is not UTF-8 here", "save it as UTF-8")


def _syntax(path: Path, line: int, column: int, message: str, why: str) -> NoReturn:
    raise ConfigError(
        f"{path}:{line}:{column}: {message}",
        why=why,
        hint=f"push config validate --config {shlex.quote(str(path))}",
        code="config_syntax",
    ) from None


def parse(path: Path, text: str) -> dict[str, Any]:
    """The document. Raises ConfigError with line and column where it is not TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        _syntax(path, 1, 1, "lists or tables are nested too deeply", "no setting needs more than two levels")
    except ValueError as exc:  # tomllib's own error, and a number too long for Python
        message = str(exc)
        place = _TOML_PLACE.search(message)
        lines = text.split("\n")
        line, column = len(lines), len(lines[-1]) + 1
        if place and place[1]:
            line, column = int(place[1]), int(place[2])
        what = _TOML_PLACE.sub("", message).strip() if place else "a number is too long"
        near = lines[line - 1][max(column - 2, 0) : column]
        why = "there is a tab here" if "\t" in near else "the file is not TOML here; mind that text stands in quotes"
        what = _PLAINER.get(what, what[:1].lower() + what[1:])
        _syntax(path, line, column, what, why)
