"""The configuration in a backup: without secrets on its way in, with right paths on its way out.

Owns what of its text is changed, line by line, so that comments and order stay; does not own what the keys mean
(`push.config`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from push.backup.manifest import Manifest
from push.config import places
from push.config.settings import OPENAI_KEY_ENV, SENTRY_DSN_ENV, Settings
from push.config.toml_lines import KeyPath, key_lines
from push.errors import Failed
from push.paths import Home
from push.redaction import MARK, Redaction

#: The keys that hold a secret; the last is how an earlier implementation spelt the first.
_SECRETS: tuple[KeyPath, ...] = (
    ("telegram", "bot_token"),
    ("voice", "openai_api_key"),
    ("sentry", "dsn"),
    ("telegram_bot_token",),
)
#: What looks like a credential of one of the services that agents use, wherever it stands.
_FORMS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}|\bgh[a-z]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bxox[a-z]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b|(?<=://)[^\s/\"'@:]*:[^\s/\"'@]+(?=@)|(?<=://)[0-9a-f]{32}(?=@)"
)
_RESTORED = ("state_path", "database_path")
_LEFT_OUT = "left out of the backup"


@dataclass(frozen=True, slots=True)
class Adapted:
    """The text for another home, and what was changed in it, as sentences."""

    text: str
    notes: tuple[str, ...]


def named_secrets(settings: Settings) -> dict[str, str]:
    """The keys whose secret the gateway has, from wherever, and the variable that may hold each."""
    found = (
        ("telegram.bot_token", settings.telegram.bot_token, settings.telegram.bot_token_env),
        ("voice.openai_api_key", settings.voice.openai_api_key, OPENAI_KEY_ENV),
        ("sentry.dsn", settings.sentry.dsn, SENTRY_DSN_ENV),
    )
    return {name: variable for name, secret, variable in found if secret is not None}


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with every known secret, and all that looks like one, replaced; keys of secrets become comments.

    Raises Failed where a secret is written so that it cannot be taken out.
    """
    document, lines = tomllib.loads(text), text.splitlines(keepends=True)
    at = key_lines(text)
    known = set(secrets)
    for path in _SECRETS:
        value = _value(document, path)
        if not isinstance(value, str) or path not in at:
            continue
        known.add(value)
        line = lines[at[path] - 1]
        if re.match(rf"\s*(?:[\w\"'.-]*\.)?[\"']?{path[-1]}[\"']?\s*=", line) and _is_whole(line):
            lines[at[path] - 1] = f'# {path[-1]} = "{MARK}"  # {_LEFT_OUT}\n'
    clean = redacted("".join(lines), known)
    if any(_value(_parsed(clean), path) == _value(document, path) is not None for path in _SECRETS):
        raise _stubborn()
    return clean


def redacted(text: str, secrets: Iterable[str]) -> str:
    """A text without these secrets, and without what looks like one."""
    return _FORMS.sub(MARK, Redaction(secrets).text(text))


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError:
        raise _stubborn() from None


def _stubborn() -> Failed:
    return Failed(
        "a secret cannot be taken out of the configuration",
        why="it is written in another way than as one text on one line",
        hint="push backup create --with-secrets",
        code="secret_in_the_way",
    )


def _is_whole(line: str) -> bool:
    """Whether a line is TOML by itself: nothing goes on in the next."""
    try:
        tomllib.loads(line)
    except ValueError:
        return False
    return True


def _value(document: dict[str, Any], path: KeyPath) -> object:
    found: object = document
    for name in path:
        found = found.get(str(name)) if isinstance(found, dict) else None
    return found


def adapted(text: str, manifest: Manifest, home: Path) -> Adapted:
    """The configuration for `home`. Raises Failed where a path is written so that it cannot be changed."""
    document, lines = tomllib.loads(text), text.splitlines(keepends=True)
    at, notes = key_lines(text), list[str]()
    for key in (*places.MOVABLE, "sessions_dir"):
        value = document.get(key)
        path = places.resolve(value) if isinstance(value, str) else None
        if not isinstance(path, Path) or _may_stay(key, path, home):
            continue
        line = lines[at[key,] - 1]
        lines[at[key,] - 1] = f"# It points away from what was restored:\n# {line.lstrip()}"
        notes.append(f"{key} is commented out: it pointed to {path}")
    root = document.get("assistant_root")
    absolute = f"assistant_root = {json.dumps(manifest.assistant_root, ensure_ascii=False)}\n"
    if isinstance(root, str) and not Path(root).is_absolute() and not root.startswith("~"):
        lines[at["assistant_root",] - 1] = absolute
        notes.append(f"assistant_root is {manifest.assistant_root}: it was relative")
    elif root is None and _was_named_otherwise(document, manifest):
        lines.insert(0, absolute)
        notes.append(f"assistant_root is {manifest.assistant_root}: it was the home itself")
    changed = "".join(lines)
    _check(changed, document, home)
    return Adapted(changed, tuple(notes))


def _may_stay(key: str, path: Path, home: Path) -> bool:
    """What was restored lies where no key says otherwise; the rest may lie anywhere in the home."""
    if key in _RESTORED:
        return bool(path == getattr(Home.at(home), places.MOVABLE[key]))
    return path.is_relative_to(home)


def _was_named_otherwise(document: dict[str, Any], manifest: Manifest) -> bool:
    """Whether the assistant's folder follows neither from a key nor from the home's default."""
    default = str(Path(manifest.home) / places.ASSISTANT)
    return "assistant_dir" not in document and manifest.assistant_root != default


def assistant_root(home: Path) -> Path | None:
    """The assistant's folder of a restored home; None where it is where the original had it."""
    config = home / "config.toml"
    document = tomllib.loads(config.read_text()) if config.exists() else {}
    named = document.get("assistant_root")
    found = places.resolve(named, home) if isinstance(named, str) else home / places.ASSISTANT
    return found if isinstance(found, Path) and "assistant_dir" not in document else None


def _check(text: str, before: dict[str, Any], home: Path) -> None:
    """A text over several lines is not changed by changing its first one."""
    try:
        after = tomllib.loads(text)
    except ValueError:
        after = None
    if after is None or any(
        isinstance(path := places.resolve(value), Path) and not _may_stay(key, path, home)
        for key in (*places.MOVABLE, "sessions_dir")
        if isinstance(value := after.get(key), str)
    ):
        raise Failed(
            "a path in the backup's configuration cannot be changed",
            why="it is written in another way than as one text on one line",
            hint="push backup create --help",
            code="path_in_the_way",
        )
    assert set(after) - {"assistant_root"} <= set(before)
