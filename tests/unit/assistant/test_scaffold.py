from __future__ import annotations

from pathlib import Path

import pytest

from push import assistant
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
