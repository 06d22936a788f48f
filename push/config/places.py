"""Where the files of a gateway may lie: resolution of paths and the rules between them.

Owns the rules for paths; does not create, read or check anything in the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from push.config.findings import Finding
from push.config.rules import enabled_channels
from push.config.schema import FileTable
from push.config.settings import OPENAI_KEY_ENV, SENTRY_DSN_ENV
from push.config.toml_lines import KeyPath
from push.paths import Home

#: Key of the file -> field of `Home` that it moves.
MOVABLE = {
    "state_path": "state",
    "database_path": "push_db",
    "audit_log_path": "audit",
    "drafts_dir": "drafts",
    "jobs_run_dir": "run",
}
_FILES = ("state", "push_db", "queue_db", "audit")
_FOLDERS = ("drafts", "run", "spool", "media", "vault", "logs")
_KEY_OF = {field: key for key, field in MOVABLE.items()}

#: The assistant's folder below the home where the file names none.
ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Places:
    """The resolved paths. `moved` are those that the file names, by key.

    `legacy` marks an assistant that may share its folder with Push's files, as it once could.
    """

    config: Path
    home: Home
    assistant_root: Path
    moved: Mapping[str, Path] = field(default_factory=dict)
    legacy: bool = False

    def key_of(self, name: str) -> KeyPath:
        """The key of the file that is to blame for where `name` lies."""
        return (name,) if name in self.moved else ("assistant_root",)


def resolve(text: str, base: Path | None = None) -> Path | str:
    """The absolute path without symlinks, or what is wrong with it. Relative ones are allowed from `base` only."""
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        return "names a home folder that does not exist"
    if not path.is_absolute():
        if base is None:
            return "is a relative path"
        path = base / path
    if ".." in path.parts:
        return "has '..' in it"
    return Path(os.path.realpath(path))


def expected_path(*, base: Path | None = None) -> str:
    """What a path must look like, in words."""
    relative = f", or one relative to {base}" if base else ""
    return f"an absolute path, or one that begins with ~{relative}, without '..'"


def resolved_or_same(text: str) -> Path:
    """The path as `resolve` finds it, else as it is written: for files of others, which may lie anywhere."""
    path = resolve(text, Path.cwd())
    return Path(text) if isinstance(path, str) else path


def choose(table: FileTable, config: Path, root: Path, *, legacy: bool) -> tuple[Places | None, list[Finding]]:
    """Every path of the gateway below `root`, and what is wrong with them. `legacy` is as in `Places`."""
    moved, found = _moved_paths(table)
    assistant, shared = _assistant_root(table, config, root)
    if isinstance(assistant, Finding):
        return None, [*found, assistant]
    home = replace(Home.at(root), **{MOVABLE[key]: path for key, path in moved.items() if key in MOVABLE})
    places = Places(config, home, assistant, moved, legacy=legacy or shared)
    return places, found or [*_check(places), *_inline_secrets(table, places)]


def _moved_paths(table: FileTable) -> tuple[dict[str, Path], list[Finding]]:
    paths, found = {}, []
    for key in (*MOVABLE, "sessions_dir"):
        text = getattr(table, key)
        if text is None:
            continue
        path = resolve(text)
        if isinstance(path, str):
            found.append(Finding((key,), path, expected_path()))
        else:
            paths[key] = path
    return paths, found


def _assistant_root(table: FileTable, config: Path, root: Path) -> tuple[Path | Finding, bool]:
    """The assistant's folder, and whether it is the home itself, as in files that are older than `assistant_root`."""
    base = config.resolve().parent
    if table.assistant_root is not None:
        path = resolve(table.assistant_root, base)
        if isinstance(path, str):
            return Finding(("assistant_root",), path, expected_path(base=base)), False
        return path, False
    if set(enabled_channels(table)) == {"local"}:
        return root / ASSISTANT, False
    if (root / "SOUL.md").is_file():
        return _real(root), True
    return Finding(("assistant_root",), "is missing", "the folder that holds SOUL.md"), False


def _inline_secrets(table: FileTable, places: Places) -> Iterator[Finding]:
    if places.legacy or not _real(places.config).is_relative_to(places.assistant_root):
        return
    secrets = {
        ("telegram", "bot_token"): (table.telegram.bot_token, table.telegram.bot_token_env),
        ("voice", "openai_api_key"): (table.voice.openai_api_key, OPENAI_KEY_ENV),
        ("sentry", "dsn"): (table.sentry.dsn, SENTRY_DSN_ENV),
    }
    for path, (secret, variable) in secrets.items():
        if secret is not None:
            wanted = f"the variable {variable}, or a configuration outside assistant_root"
            yield Finding(path, "is a secret inside the assistant's folder, which is under version control", wanted)


def _check(places: Places) -> list[Finding]:
    return [*_inside_assistant(places), *_overlapping_folders(places), *_misplaced_files(places)]


def _overlap(left: Path, right: Path) -> bool:
    return left.is_relative_to(right) or right.is_relative_to(left)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _folders(places: Places) -> dict[str, Path]:
    folders = {_KEY_OF.get(name, name): _real(getattr(places.home, name)) for name in _FOLDERS}
    if "sessions_dir" in places.moved:
        folders["sessions_dir"] = places.moved["sessions_dir"]
    return folders


def _files(places: Places) -> dict[str, Path]:
    return {_KEY_OF.get(name, name): _real(getattr(places.home, name)) for name in _FILES}


def _inside_assistant(places: Places) -> Iterator[Finding]:
    root = places.assistant_root
    if places.legacy:
        return
    folders = _folders(places)
    mixed: dict[KeyPath, list[Path]] = {}
    for name, path in (folders | _files(places)).items():
        if path.is_relative_to(root) or (name in folders and root.is_relative_to(path)):
            mixed.setdefault(places.key_of(name), []).append(path)
    for key, paths in mixed.items():
        shown = f"{paths[0]} and {len(paths) - 1} more of Push's own" if len(paths) > 1 else str(paths[0])
        advice = f"expected Push's own files outside the assistant's folder {root}, and the other way round"
        yield Finding(key, f"mixes the assistant's folder with {shown}", advice=advice)


def _overlapping_folders(places: Places) -> Iterator[Finding]:
    folders = _folders(places)
    if places.legacy:
        folders["jobs"] = places.assistant_root / "jobs"
    for one, other in combinations(folders, 2):
        if _overlap(folders[one], folders[other]):
            key, rival = (one, other) if one in places.moved else (other, one)
            yield Finding(places.key_of(key), f"overlaps {rival} ({folders[rival]})", "a folder of its own")


def _misplaced_files(places: Places) -> Iterator[Finding]:
    files = {**_files(places), "the configuration": _real(places.config)}
    for one, other in combinations(files, 2):
        if files[one] == files[other]:
            key, rival = (one, other) if one in places.moved else (other, one)
            yield Finding(places.key_of(key), f"is the same file as {rival}", "a file of its own")
    for folder in {"drafts_dir", "sessions_dir"} & set(places.moved):
        for name, path in files.items():
            if path.is_relative_to(places.moved[folder]):
                key = name if name in places.moved else folder
                yield Finding((key,), f"puts {path} inside {folder}", "another folder")
