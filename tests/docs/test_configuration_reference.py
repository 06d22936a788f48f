"""The reference page is current, every key is described, and the schema means what the loader does."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from push.config import reference
from push.config.schema import FileTable

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "configuration.md"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOML_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == reference.markdown(), "push config schema --markdown > docs/reference/configuration.md"


def test_every_key_has_a_sentence() -> None:
    for key, info in reference.every_key():
        assert (info.description or "").endswith("."), key
        assert f"| `{key.rpartition('.')[2]}` |" in reference.markdown()


def test_every_table_has_a_sentence() -> None:
    for definition in reference.json_schema()["$defs"].values():
        assert definition["description"].endswith(".")


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from nodes(inner)


def test_the_schema_forbids_unknown_keys_and_knows_no_null() -> None:
    schema = reference.json_schema()
    tables = [node for node in nodes(schema) if node.get("type") == "object"]
    assert len(tables) == 1 + len(schema["$defs"])
    assert all(table["additionalProperties"] is False for table in tables)
    assert not [node for node in nodes(schema) if node.get("type") == "null" or node.get("default", 0) is None]
    assert json.loads(json.dumps(schema)) == schema


def test_the_schema_marks_secrets() -> None:
    secrets = {key for key, info in reference.every_key() if "SecretStr" in str(info.annotation)}
    assert secrets == {"telegram.bot_token", "voice.openai_api_key", "sentry.dsn"}
    definitions = reference.json_schema()["$defs"]
    assert definitions["TelegramTable"]["properties"]["bot_token"]["writeOnly"] is True


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_in_the_documents_are_valid(document: Path) -> None:
    for block in TOML_BLOCK.findall(document.read_text()):
        FileTable.model_validate(tomllib.loads(block))
