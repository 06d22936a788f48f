"""Secrets from outside the configuration: which one the outside gives under a variable's name.

Owns the sources and their order: a descriptor (`PUSH_SECRETS_FD`), systemd's credentials, the environment. Does not own
which names are asked for, nor when a secret in the file wins (`push.config.build`). No error shows any of a secret.
"""

from __future__ import annotations

import os
import re
import select
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from push import clock, environ
from push.errors import ConfigError

#: The variable that names a descriptor with lines NAME=value.
FD_ENV = "PUSH_SECRETS_FD"
#: systemd sets it for a unit with LoadCredential= to a folder with a file for each.
FOLDER_ENV = "CREDENTIALS_DIRECTORY"

_LARGEST = 64 * 1024  # bytes
_PATIENCE_SECONDS = 5.0  # whoever holds the other end of a pipe has written, and closed it, by then
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: What a pipe said: it says so once. And how many names a file had when it was seen first.
_said: dict[int, bytes] = {}
_links: dict[int, int] = {}


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret; the kind of its source (`descriptor`, `credential` or `environment`), and its place in words.

    Without the variable `through` it would not be found there.
    """

    value: SecretStr
    source: str
    place: str
    through: str = ""


class Credentials:
    """What the outside gave at one moment."""

    def __init__(self, lines: Mapping[str, str], number: int | None, folder: Path | None) -> None:
        self._lines = lines
        self._number = number
        self._folder = folder

    def find(self, name: str) -> Credential | None:
        """The secret of this name, from the first source that has it. Raises ConfigError for an unreadable file."""
        return next(self._all(name), None)

    def values(self, names: tuple[str, ...]) -> list[str]:
        """Every secret of these names, whichever source wins, and whatever the descriptor holds."""
        found = [credential.value.get_secret_value() for name in names for credential in self._all(name)]
        return [*self._lines.values(), *found]

    def _all(self, name: str) -> Iterator[Credential]:
        sources = (
            ("descriptor", self._lines.get(name), f"{name} in descriptor {self._number} ({FD_ENV})", FD_ENV),
            ("credential", self._credential(name), f"the credential {name} ({self._folder}/{name})", FOLDER_ENV),
            ("environment", environ.get(name), f"the variable {name}", name),
        )
        for source, value, place, through in sources:
            if value and value.strip():
                yield Credential(SecretStr(value.strip()), source, place, through)

    def _credential(self, name: str) -> str | None:
        if self._folder is None:
            return None
        path = self._folder / name
        try:
            with path.open("rb") as file:
                return _text(file.read(_LARGEST + 1), f"the credential {path}")
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise _unusable(f"cannot read the credential {path}", exc.strerror or type(exc).__name__) from None


def read() -> Credentials:
    """Look at the outside now. Raises ConfigError for a descriptor that cannot be used."""
    folder = environ.get(FOLDER_ENV)
    number = _number(environ.get(FD_ENV))
    lines = {} if number is None else _lines_of(number)
    return Credentials(lines, number, Path(folder) if folder else None)


def _unusable(message: str, why: str) -> ConfigError:
    return ConfigError(message, why=why, hint=f"unset {FD_ENV} {FOLDER_ENV}", code="secrets_unusable")


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch("[0-9]{1,6}", text.strip()):
        raise _unusable(f"{FD_ENV} is no number of a descriptor", "expected a number, as in: PUSH_SECRETS_FD=3")
    return int(text)


def _lines_of(number: int) -> dict[str, str]:
    what = f"descriptor {number} ({FD_ENV})"
    try:
        data = _content(number, what)
    except OSError as exc:
        raise _unusable(f"{what} cannot be read", exc.strerror or type(exc).__name__) from None
    lines: dict[str, str] = {}
    for at, line in enumerate(_text(data, what).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not _NAME.fullmatch(name.strip()):
            raise _unusable(f"{what}, line {at}: it is not NAME=value", "each line names one secret")
        if name.strip() in lines:
            raise _unusable(f"{what}, line {at}: {name.strip()} is set a second time", "each name once")
        lines[name.strip()] = value.strip()
    return lines


def _content(number: int, what: str) -> bytes:
    """What the descriptor holds; a file is read anew each time, a pipe once."""
    if number in _said:
        return _said[number]
    status = os.fstat(number)
    os.set_inheritable(number, False)  # no child of ours has it
    if stat.S_ISREG(status.st_mode):
        if _links.setdefault(number, status.st_nlink) and not status.st_nlink:
            why = "the descriptor still shows the old one; write into the file, or start Push again"
            raise _unusable(f"{what}: its file was replaced by another", why)
        return os.pread(number, _LARGEST + 1, 0)
    if not (stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)):
        raise _unusable(f"{what} is neither a file nor a pipe", f"as in: {FD_ENV}=3 push run 3< FILE")
    _said[number] = _drained(number, what)
    return _said[number]


def _drained(number: int, what: str) -> bytes:
    poller = select.poll()
    poller.register(number, select.POLLIN)
    deadline = clock.monotonic() + _PATIENCE_SECONDS
    data = b""
    while len(data) <= _LARGEST:
        if not poller.poll(max(deadline - clock.monotonic(), 0) * 1000):
            raise _unusable(f"{what}: its other end was not closed", f"it was waited for {_PATIENCE_SECONDS:.0f} s")
        chunk = os.read(number, _LARGEST)
        if not chunk:
            break
        data += chunk
    return data


def _text(data: bytes, what: str) -> str:
    if len(data) > _LARGEST:
        raise _unusable(f"{what} is too long", f"a secret and its name have no more than {_LARGEST} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _unusable(f"{what} is not UTF-8", "a secret is text") from None
