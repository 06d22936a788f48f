"""What opening the gear makes, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.app.gear import open_gear
from push.config import load


def opened(home: Path, *lines: str) -> Path:
    """The assistant's folder after the gear was opened with this configuration."""
    (home / "config.toml").write_text("\n".join(['channel = "local"', 'agent = "codex"', *lines]))
    settings = load()
    open_gear(settings).db.close()
    return settings.assistant_root


def test_the_assistants_folder_is_made_where_nobody_named_one(home: Path) -> None:
    assert (opened(home) / "SOUL.md").is_file()


@pytest.mark.parametrize("lines", [(), ('assistant_root = "assistant"',)])
def test_an_existing_one_keeps_its_lack_of_a_soul(home: Path, lines: tuple[str, ...]) -> None:
    (home / "assistant").mkdir()
    assert list(opened(home, *lines).iterdir()) == []


def test_a_folder_that_was_named_is_not_made(home: Path) -> None:
    assert not opened(home, 'assistant_root = "mine"').exists()
