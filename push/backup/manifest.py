"""The manifest of a backup: what is in it, and what it is a backup of. Does not own the archive's form."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from push.errors import DependencyError

#: The format of the archive, which a later one may raise.
VERSION = 1
NAME = "manifest.json"

#: The files that there may be, in the order in which they stand, and how many bytes each may have at most (None: as
#: many as the disk takes).
FILES: dict[str, int | None] = {"config.toml": 1 << 20, "state.json": 1 << 28, "push.db": None}
LARGEST = 1 << 20  # bytes of the manifest itself

#: Of a repository, as it may stand in a command that a person types after us.
_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[\w.@:/~%+-]+|[\w.-]+@[\w.-]+:[\w./~+-]+|/[\w./~+ -]+")

_KINDS: dict[str, type | tuple[type, ...]] = {
    "created_at": str,
    "push": str,
    "schema": int,
    "turns": int,
    "deliveries": int,
    "home": str,
    "assistant_root": str,
    "assistant_origin": str,
    "with_secrets": bool,
    "secrets": dict,
    "files": dict,
}


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the backup. `size` is bytes."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself. `secrets` maps each key of the configuration that had a value to its variable.

    `home` and `assistant_root` are where they were, `assistant_origin` is where git has the latter from ("" where that
    is not known). `created_at` is ISO 8601 in UTC; `push` and `schema` are versions.
    """

    created_at: str
    push: str
    schema: int
    turns: int
    deliveries: int
    home: str
    assistant_root: str
    assistant_origin: str
    with_secrets: bool
    secrets: dict[str, str]
    files: dict[str, Member]

    def encode(self) -> bytes:
        """As it stands in the archive."""
        fields = {"version": VERSION, **asdict(self)}
        return json.dumps({**fields, "sha256": _digest(fields)}, indent=1).encode()


def decode(data: bytes) -> Manifest | str:
    """The manifest of an archive, or what is wrong with it. Raises DependencyError where a newer Push has made it."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(raw, dict) or type(raw.get("version")) is not int:
        return "it names no version"
    if raw.pop("sha256", None) != _digest(raw):
        return "it is not as it was written"
    if raw["version"] > VERSION:
        raise newer(f"the backup has format {raw['version']}; this version of Push knows {VERSION}")
    wrong = [name for name, kind in _KINDS.items() if type(raw.get(name)) is not kind]
    if wrong:
        return f"{wrong[0]} is missing, or of another kind"
    if not all(raw[name].startswith("/") for name in ("home", "assistant_root")):
        return "a folder that it names is no absolute path"
    if raw["assistant_origin"] and not is_address(raw["assistant_origin"]):
        return "the address of the assistant's repository is none"
    return _built(raw)


def _built(raw: dict[str, Any]) -> Manifest | str:
    files = {}
    for name, entry in raw["files"].items():
        if name not in FILES:
            return f"it names a file that no backup has: {name[:100]!r}"
        size, digest = (entry.get("size"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
        if type(size) is not int or size < 0 or type(digest) is not str:
            return f"what it says of {name} is not complete"
        files[name] = Member(size, digest)
    if [name for name in FILES if name in files] != list(files):
        return "its files are not in their order"
    secrets = {str(name): str(variable) for name, variable in raw["secrets"].items()}
    return Manifest(**{name: raw[name] for name in _KINDS} | {"secrets": secrets, "files": files})


def is_address(text: str) -> bool:
    """Whether a text is the address of a repository, and may be named in a manifest."""
    return _ADDRESS.fullmatch(text) is not None


def _digest(fields: dict[str, Any]) -> str:
    """Of what the manifest says, in whatever order."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def newer(what: str) -> DependencyError:
    """The error for what a newer Push has made."""
    return DependencyError(what, why="a newer Push has made it", hint="push --version", code="backup_newer")
