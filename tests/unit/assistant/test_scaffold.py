from __future__ import annotations

import os
from pathlib import Path

import pytest

from push import assistant
from push.assistant import scaffold
from push.errors import TemporaryError


def test_it_makes_what_is_missing_and_touches_nothing_else(tmp_path: Path) -> None:
    root = tmp_path / "a" / "assistant"
    assistant.scaffold_default(root)
    assert (root / "SOUL.md").stat().st_mode & 0o777 == 0o600
    assert root.stat().st_mode & 0o777 == 0o700
    assert (root / "context/README.md").is_file()
    assert (root / "jobs").is_dir()
    (root / "SOUL.md").write_text("mine")
    (root / "context/README.md").unlink()
    assistant.scaffold_default(root)
    assert (root / "SOUL.md").read_text() == "mine"
    assert (root / "context/README.md").is_file()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TemporaryError):
        assistant.scaffold_default(tmp_path / "file" / "assistant")


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the next attempt would take it for the owner's."""
    root = tmp_path / "assistant"
    for folder in (root, root / "context", root / "jobs"):
        folder.mkdir()
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(scaffold, "open_private", lambda path, flags: (path.touch(), full)[1])
    with pytest.raises(TemporaryError, match="No space left"):
        assistant.scaffold_default(root)
    assert not (root / "SOUL.md").exists()
    monkeypatch.undo()
    assert assistant.scaffold_default(root) == list(scaffold.FILES)
