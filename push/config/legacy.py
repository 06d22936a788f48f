"""Files of the earlier implementation: keys that moved, and keys that are gone.

Owns the old names and what to do instead; does not own the present ones (`push.config.schema`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from push.config.findings import Finding, kind_of
from push.config.places import expected_path, resolve
from push.config.toml_lines import KeyPath

#: Old flat key -> its table and name now. Both spellings load; both at once do not.
FLAT_KEYS: dict[str, tuple[str, str]] = {
    "db_path": ("imessage", "db_path"),
    "self_handles": ("imessage", "self_handles"),
    "allow_from": ("imessage", "allow_from"),
    "telegram_bot_token": ("telegram", "bot_token"),
    "telegram_bot_token_env": ("telegram", "bot_token_env"),
    "telegram_allow_user_ids": ("telegram", "allow_user_ids"),
    "telegram_allow_chat_ids": ("telegram", "allow_chat_ids"),
}

_ASSISTANT_DEFAULTS = {"assistant_dir": "~/.push", "jobs_dir": "~/.push/jobs"}

_PERMISSIONS = "remove it: an agent's permissions, sandbox and tools are set in its own configuration"
_SLACK = "remove it: this version has the channels imessage, telegram and local"

_REMOVED: dict[str, str] = {
    "permission_profile": _PERMISSIONS,
    "permission_profiles": _PERMISSIONS,
    "job_permission_profiles": _PERMISSIONS,
    "permission_mode": _PERMISSIONS,
    "tools": _PERMISSIONS,
    "allowed_tools": _PERMISSIONS,
    "disallowed_tools": _PERMISSIONS,
    "claude_permission_mode": _PERMISSIONS,
    "claude_tools": _PERMISSIONS,
    "claude_allowed_tools": _PERMISSIONS,
    "claude_disallowed_tools": _PERMISSIONS,
    "codex_sandbox": _PERMISSIONS,
    "codex_approval_policy": _PERMISSIONS,
    "assistant": "move who the assistant is into SOUL.md in assistant_root, and remove it",
    "slack": _SLACK,
    "missive": _SLACK,
}


@dataclass(frozen=True, slots=True)
class Translated:
    """What became of an old file: where moved keys were written, what is wrong, and the keys that it sets.

    `old_layout` says that the assistant is named by `assistant_dir`, whose folder Push's own files may share.
    """

    aliases: dict[KeyPath, KeyPath]
    findings: list[Finding]
    written: frozenset[str]
    old_layout: bool


def translate(document: dict[str, Any], base: Path) -> Translated:
    """Bring `document` into the present shape, in place. Relative assistants are relative to `base`."""
    findings = _removed_keys(document)
    aliases, doubled = _move_flat_keys(document)
    findings += doubled
    old_layout = not {"assistant_dir", "jobs_dir"}.isdisjoint(document)
    if old_layout:
        findings += _move_assistant(document, base, aliases)
    written = {
        f"{name}.{inner}" if isinstance(value, dict) else name
        for name, value in document.items()
        for inner in (value if isinstance(value, dict) else ("",))
    }
    return Translated(aliases, findings, frozenset(written), old_layout)


def _move_assistant(document: dict[str, Any], base: Path, aliases: dict[KeyPath, KeyPath]) -> list[Finding]:
    """`assistant_dir` and `jobs_dir` become `assistant_root`, if they are one repository."""
    written = [name for name in _ASSISTANT_DEFAULTS if name in document]
    folders = {name: document.pop(name, default) for name, default in _ASSISTANT_DEFAULTS.items()}
    if "assistant_root" in document:
        return [Finding((written[0],), "is set beside assistant_root, which replaces it", "assistant_root alone")]
    paths = {}
    for name, text in folders.items():
        path = resolve(text, base) if isinstance(text, str) else f"is {kind_of(text)}"
        if isinstance(path, str):
            return [Finding((name,), path, expected_path(base=base))]
        paths[name] = path
    if paths["jobs_dir"] != paths["assistant_dir"] / "jobs":
        advice = "move SOUL.md, context/ and jobs/ into one folder, and name it by assistant_root instead of both keys"
        return [
            Finding(
                (written[-1],),
                "is not part of one assistant's folder: jobs_dir must be assistant_dir/jobs",
                advice=advice,
            )
        ]
    document["assistant_root"] = str(paths["assistant_dir"])
    aliases[("assistant_root",)] = ("assistant_dir",)
    return []


def _removed_keys(document: dict[str, Any]) -> list[Finding]:
    """Take the keys that are gone out of `document`, with what to do instead of each."""
    found = [_take(document, (name,)) for name in _REMOVED if name in document]
    routes = document.get("routes")
    for index, route in enumerate(routes if isinstance(routes, list) else ()):
        if isinstance(route, dict) and "permission_profile" in route:
            found.append(_take(route, ("routes", index, "permission_profile")))
    telegram = document.get("telegram")
    if isinstance(telegram, dict) and telegram.pop("max_audio_bytes", None) is not None:
        advice = "remove it: the limit is fixed at 20 MiB"
        found.append(Finding(("telegram", "max_audio_bytes"), "is no longer a setting", advice=advice))
    return found


def _take(table: dict[str, Any], path: KeyPath) -> Finding:
    name = str(path[-1])
    del table[name]
    return Finding(path, "is no longer a setting", advice=_REMOVED[name])


def _move_flat_keys(document: dict[str, Any]) -> tuple[dict[KeyPath, KeyPath], list[Finding]]:
    """Move old flat keys into their tables. Returns where each was written, and those written twice."""
    aliases: dict[KeyPath, KeyPath] = {}
    found = []
    for flat, (table, key) in FLAT_KEYS.items():
        if flat not in document:
            continue
        inner = document.setdefault(table, {})
        value = document.pop(flat)
        if not isinstance(inner, dict):
            continue  # the table itself is the finding
        if key in inner:
            found.append(Finding((flat,), f"is set here and as {table}.{key}", f"only {table}.{key}"))
            continue
        inner[key] = value
        aliases[(table, key)] = (flat,)
    return aliases, found
