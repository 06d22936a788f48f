"""The configuration for readers: its JSON schema, its reference page, and what is in effect.

Owns how keys are presented; does not own the keys (`push.config.schema`). Secrets are shown as set or not, no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from push.config.durations import format_duration
from push.config.places import MOVABLE
from push.config.schema import FileTable, table_of
from push.config.settings import Settings

HIDDEN = "(hidden)"
_PAGE_HEAD = """# Configuration

`config.toml` lies in `$PUSH_HOME` (default `~/.push`); `--config FILE` names another one. An unknown key or a value of
the wrong kind is an error with its line. `push config validate` checks the file, `push config show` prints what is in
effect, `push config schema` prints the JSON schema for editors. A path is absolute or begins with `~`.

This version has the terminal and Telegram as channels. Of channels and features that are still to come, the keys are
checked, so that a file of an earlier implementation loads, and otherwise not used: `poll_interval`, `reply_marker`,
`drafts_dir`, `primary_delivery`, `jobs_*` but for `jobs_run_dir`, `telegram.base_file_url`, and the tables `imessage`,
`voice`, `reply` and `vault`. Their secrets are hidden from logs and agents all the same.

With Telegram on, the bot's token must be there when a gateway starts, in the file or in the variable. Both allowlists
may be empty: nobody is let in then but by `push allow add`, which takes effect at once, and `push doctor` warns where
nobody is. Ids are numbers that never change; `push allow list` shows those of whoever wrote to the bot and was refused.

This page is generated: `push config schema --markdown > docs/reference/configuration.md`.
"""


class _TomlSchema(GenerateJsonSchema):
    """TOML has no null: a key without a value is left out."""

    def field_title_should_be_set(self, schema: core_schema.CoreSchema | object) -> bool:  # noqa: ARG002 - pydantic's shape
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default", made) is None:
            del made["default"]
        return made


def json_schema() -> dict[str, Any]:
    """The JSON schema of config.toml."""
    schema = FileTable.model_json_schema(schema_generator=_TomlSchema)
    return {"$schema": _TomlSchema.schema_dialect, **schema, "title": "config.toml of Push"}


def every_key() -> Iterator[tuple[str, FieldInfo]]:
    """Every key with its dotted name, in the order of the schema; a key of each route as `routes.agent`."""
    tables = []
    for name, info in FileTable.model_fields.items():
        table = table_of(info.annotation)
        if table is None:
            yield name, info
        else:
            tables.append((name, table))
    for name, table in tables:
        for key, info in table.model_fields.items():
            yield f"{name}.{key}", info


def markdown() -> str:
    """The reference page, `docs/reference/configuration.md`."""
    sections = [_PAGE_HEAD, "## The top level\n", *_rows(FileTable)]
    for name, info in FileTable.model_fields.items():
        table = table_of(info.annotation)
        if table is not None:
            header = f"[[{name}]]" if info.annotation == list[table] else f"[{name}]"  # type: ignore[valid-type]
            sections += [f"\n## `{header}`\n", f"{(table.__doc__ or '').strip()}\n", *_rows(table)]
    return "\n".join(sections).rstrip() + "\n"


def _rows(table: type[BaseModel]) -> list[str]:
    properties = table.model_json_schema(schema_generator=_TomlSchema)["properties"] if table.model_fields else {}
    rows = [
        f"| `{name}` | {_kind(properties[name])} | {_default(info)} | {info.description} |"
        for name, info in table.model_fields.items()
        if table_of(info.annotation) is None
    ]
    return ["| key | kind | default | meaning |", "|---|---|---|---|", *rows] if rows else []


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " \\| ".join(f'`"{choice}"`' for choice in schema["enum"])
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}"
    if "examples" in schema:
        return "duration"
    return {"password": "secret", "uri": "URL"}.get(schema.get("format", ""), str(schema["type"]))


def _default(info: FieldInfo) -> str:
    extra = info.json_schema_extra
    if isinstance(extra, dict) and "x-default" in extra:
        return str(extra["x-default"])
    if info.is_required():
        return "needed"
    return "none" if info.default is None else f"`{json.dumps(info.default)}`"


@dataclass(frozen=True, slots=True)
class Effective:
    """One key with the value in effect. `seconds` says that the value is a duration; `source` where it is from."""

    key: str
    value: object
    seconds: bool
    source: str  # "file" | "default"; of a secret also "descriptor" | "credential" | "environment"

    def shown(self) -> str:
        """The value for a person."""
        if self.seconds and isinstance(self.value, float):
            return format_duration(self.value)
        return "" if self.value is None else self.value if self.value == HIDDEN else json.dumps(self.value)


def effective(settings: Settings) -> list[Effective]:
    """Every key with its value in effect, secrets hidden."""
    found = []
    for key, info in every_key():
        if key in {"sessions_dir", "channel"} or key.startswith("routes."):
            continue
        value = _value(settings, key)
        seconds = isinstance(info.default, str) and isinstance(value, float)
        found.append(Effective(key, _plain(value), seconds, _source(settings, key)))
    routes = [{"thread": r.thread, "channel": r.channel, "agent": r.agent} for r in settings.routes]
    found.append(Effective("routes", routes, False, "file" if routes else "default"))
    return found


def _value(settings: Settings, key: str) -> object:
    value: Any = settings.home if key in MOVABLE else settings
    for name in (MOVABLE[key],) if key in MOVABLE else key.split("."):
        value = getattr(value, name) if value is not None else None
    return value


def _plain(value: object) -> object:
    if isinstance(value, SecretStr):
        return HIDDEN
    if isinstance(value, frozenset):
        return sorted(value)
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def _source(settings: Settings, key: str) -> str:
    if key in settings.sources:
        return settings.sources[key]
    if key in settings.written or (key == "channels" and "channel" in settings.written):
        return "file"
    return "default"
