"""From config.toml to `Settings`: read, parse, translate, check, resolve.

Owns the order of the steps; does not own the rules themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from pydantic import ValidationError

from push.config import credentials, legacy, places, rules, source
from push.config.build import build
from push.config.findings import Finding, InvalidConfig, from_validation, located
from push.config.schema import FileTable
from push.config.settings import Settings
from push.config.source import CONFIG_NAME, ConfigMissing
from push.config.toml_lines import KeyPath
from push.paths import Home, default_home


def config_path(explicit: Path | None = None) -> Path:
    """The file that `load` reads: `explicit`, else `$PUSH_HOME/config.toml`."""
    return explicit.expanduser().absolute() if explicit else default_home() / CONFIG_NAME


def load(explicit: Path | None = None) -> Settings:
    """The settings of the file. Raises ConfigError where it, or a secret, is missing or unreadable.

    InvalidConfig holds all findings of the file.
    """
    path = config_path(explicit)
    return settings_of(path, source.read(path))


def settings_of(path: Path, text: str) -> Settings:
    """The settings that `text` would give as the file at `path`. Raises as `load` does."""
    document = source.parse(path, text)
    translated = legacy.translate(document, path.resolve().parent)
    found = list(translated.findings)
    table = None
    try:
        table = FileTable.model_validate(document)
    except ValidationError as exc:
        found += from_validation(exc)
    if table is None or found:
        _refuse(path, found, text, translated.aliases)
    # Rules between keys are asked only of a file whose keys are right: a misspelt list is not also an empty one.
    found = rules.check_rules(table)
    chosen, misplaced = places.choose(table, path, default_home(), legacy=translated.old_layout)
    if found or misplaced or chosen is None:
        _refuse(path, found + misplaced, text, translated.aliases)
    outside = credentials.read()
    rules.refuse_token(table, outside.find(table.telegram.bot_token_env))
    return build(path, table, (chosen, translated.written), outside)


def load_or_default(explicit: Path | None = None) -> Settings:
    """As `load`; but where the default file is absent, the embedded default: the terminal, and no agent chosen."""
    try:
        return load(explicit)
    except ConfigMissing:
        if explicit is not None:
            raise
    return without_file()


def without_file() -> Settings:
    """The embedded default, in the default home, whatever is there. Raises ConfigError for unusable secrets."""
    home = Home.at(default_home())
    chosen = places.Places(config_path(), home, home.root / places.ASSISTANT)
    return build(None, FileTable(channel="local"), (chosen, frozenset()), credentials.read()).with_agent("")


def _refuse(path: Path, found: list[Finding], text: str, aliases: dict[KeyPath, KeyPath]) -> NoReturn:
    raise InvalidConfig(path, located(found, text, aliases)) from None
