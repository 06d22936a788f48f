"""What is wrong with a configuration file, and how it is told: file, line, key, expected, got, nearest key.

Owns the wording and the one error that carries all findings; does not own the rules that find. No finding holds a
value of the file: it may be a secret.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from push.config.kinds import tokens_in
from push.config.schema import FileTable, table_of
from push.config.toml_lines import KeyPath, key_lines
from push.errors import ConfigError

_KIND_NAMES = (
    (bool, "true or false"),
    (str, "a string"),
    (int, "a whole number"),
    (float, "a decimal number"),
    (list, "a list"),
    (dict, "a table"),
)
_EXPECTED = {
    "string_type": "a string in quotes",
    "int_type": "a whole number without quotes",
    "float_type": "a number without quotes",
    "bool_type": "true or false, without quotes",
    "list_type": "a list in brackets",
    "model_type": "a table",
}
_BOUNDS = {
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than_equal": "a number of at most {le:g}",
    "finite_number": "a finite number",
    "too_short": "a list with at least {min_length} item",
}
_SECRET_WORD = re.compile(r"[A-Za-z0-9_-]{32,}|sk-[A-Za-z0-9_-]{8,}")
_LONGEST_KEY = 60
_SHORT_TABLE = 12  # keys; a longer table is not listed where a near key was found


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `problem` follows the key's name ("is not a setting"); `nearest` is a valid key.

    `expected` says what would be right; `advice` is a whole sentence in its place.
    """

    path: KeyPath
    problem: str
    expected: str = ""
    nearest: str | None = None
    advice: str = ""
    line: int | None = None

    @property
    def key(self) -> str:
        """The key as a person reads it: `telegram.allow_user_ids, item 2`."""
        return shown_key(self.path)

    def why(self) -> str:
        """What would be right, as one sentence part."""
        meant = f"did you mean {self.nearest}?" if self.nearest else ""
        right = f"expected {self.expected}" if self.expected else self.advice
        return " ".join(part for part in (meant, right) if part)


class InvalidConfig(ConfigError):
    """A configuration file that was read and is not valid. `findings` are in file order."""

    code = "invalid_config"

    def __init__(self, file: Path, findings: Sequence[Finding]) -> None:
        first, *others = findings
        super().__init__(
            f"{_place(file, first)}: {first.key} {first.problem}",
            why=first.why(),
            hint=f"push config validate --config {shlex.quote(str(file))}",
        )
        self.findings = tuple(findings)
        self.details = tuple(f"{_place(file, f)}: {f.key} {f.problem}; {f.why()}".rstrip("; ") for f in others)


def _place(file: Path, finding: Finding) -> str:
    return f"{file}:{finding.line}" if finding.line else str(file)


def shown_key(path: KeyPath) -> str:
    """A key path for a message; names that may be a secret or would garble the terminal are described instead."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f", item {part + 1}"
        else:
            text += f"{', ' if ', item' in text else '.' if text else ''}{_shown_name(part)}"
    return text


def _shown_name(name: str) -> str:
    if tokens_in(name) or _SECRET_WORD.search(name) or len(name) > _LONGEST_KEY:
        return f"(a key of {len(name)} characters)"
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def kind_of(value: object) -> str:
    """The kind of a TOML value in words, never the value."""
    return next((words for kind, words in _KIND_NAMES if isinstance(value, kind)), "a date or time")


def located(findings: Sequence[Finding], text: str, aliases: Mapping[KeyPath, KeyPath]) -> list[Finding]:
    """The findings with their lines, in file order. `aliases` maps a key to where an old file wrote it."""
    lines = key_lines(text)
    placed = []
    for finding in findings:
        path = _written_path(finding.path, aliases)
        at = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in lines), None)
        line = lines[at] if at else None
        placed.append(replace(finding, path=path, line=line))
    return sorted(placed, key=lambda finding: finding.line or 0)


def _written_path(path: KeyPath, aliases: Mapping[KeyPath, KeyPath]) -> KeyPath:
    for new, old in aliases.items():
        if path[: len(new)] == new:
            return old + path[len(new) :]
    return path


def from_validation(error: ValidationError) -> list[Finding]:
    """The findings of the schema."""
    return [_from_pydantic(dict(item)) for item in error.errors(include_url=False)]


def _from_pydantic(item: dict[str, Any]) -> Finding:
    kind, path, context = item["type"], item["loc"], item.get("ctx") or {}
    if kind == "extra_forbidden":
        return unknown_key(path)
    if kind == "missing":
        return Finding(path[:-1], f"has no {path[-1]}", f"a key {path[-1]}")
    got = kind_of(item["input"])
    if kind == "setting":
        return Finding(path, f"is {context['got'] or got}", context["expected"])
    if kind == "literal_error":
        value = item["input"]
        choices = _literals(str(context["expected"]))
        nearest = _nearest(value, choices) if isinstance(value, str) else None
        problem = "is not one of its choices" if isinstance(value, str) else f"is {got}"
        expected = str(context["expected"]).replace("'", '"')
        return Finding(path, problem, expected, f'"{nearest}"' if nearest else None)
    if kind in _BOUNDS:
        return Finding(path, "is out of bounds", _BOUNDS[kind].format(**context))
    hint = ", each under its own [[routes]]" if path == ("routes",) else ""
    return Finding(path, f"is {got}", _EXPECTED[kind] + hint)


def _literals(expected: str) -> list[str]:
    return re.findall(r"'([^']+)'", expected)


def unknown_key(path: KeyPath) -> Finding:
    """The finding of a key that does not exist, with the nearest one that does."""
    name, table = str(path[-1]), _table_at(path[:-1])
    keys = list(table.model_fields) if table else []
    near = _nearest(name, keys)
    where = shown_key(path[:-1])
    nearest = f"{where}{', ' if ', item' in where else '.'}{near}" if near and where else near
    if nearest is None:
        nearest = _elsewhere(name, path)
    if not keys:
        return Finding(path, "is not a setting", advice="the table is reserved: it holds no key in this version")
    listed = nearest is None or len(keys) <= _SHORT_TABLE
    return Finding(path, "is not a setting", f"one of {', '.join(sorted(keys))}" if listed else "", nearest)


def _elsewhere(name: str, path: KeyPath) -> str | None:
    """A key of that name, or nearly, in another table; for a key of the top level, that it must stand there."""
    homes = {".".join((*table, key)): key for table, keys in _tables() for key in keys}
    exact = [dotted for dotted, key in homes.items() if key == name]
    near = exact or [dotted for dotted, key in homes.items() if key == _nearest(name, list(homes.values()))]
    if not near:
        return None
    top = "." not in near[0] and len(path) > 1
    return f"{near[0]}, which must stand above the first [table]" if top else near[0]


def _nearest(name: str, choices: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # only a wrong file needs it

    return next(iter(get_close_matches(name, choices, n=1, cutoff=0.6)), None)


def _tables() -> Iterator[tuple[tuple[str, ...], list[str]]]:
    yield (), list(FileTable.model_fields)
    for name in FileTable.model_fields:
        table = _table_at((name,))
        if table is not None:
            yield (name,), list(table.model_fields)


def _table_at(path: KeyPath) -> type[BaseModel] | None:
    """The model of the table at `path`; None where there is none."""
    names = [part for part in path if isinstance(part, str)]
    model: type[BaseModel] = FileTable
    for name in names:
        field = model.model_fields.get(name)
        inner = table_of(field.annotation) if field else None
        if inner is None:
            return None
        model = inner
    return model
