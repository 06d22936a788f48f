from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from push import assistant
from push.assistant.instructions import MAX_BYTES
from push.errors import ConfigError


def test_soul_comes_first_and_then_where_things_are(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_bytes("\ufeff  Be {kind}.\n\n".encode())
    text = assistant.compose(tmp_path)
    assert text.startswith("Be {kind}.\n\n---\n")
    for path in (tmp_path, tmp_path / "context/README.md", tmp_path / "jobs"):
        assert str(path) in text
    assert "SOUL.md" in text.split("---")[1]


def test_the_same_folder_gives_the_same_instructions(tmp_path: Path) -> None:
    assistant.scaffold_default(tmp_path)
    assert assistant.compose(tmp_path) == assistant.compose(tmp_path)


def test_an_empty_soul_is_one(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("")
    assert assistant.compose(tmp_path).startswith("---")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "missing"),
        (b"caf\xe9", "not UTF-8 at byte 3"),
        (b"a\0b", "NUL"),
        (b"x" * (MAX_BYTES + 1), "200000 bytes"),
    ],
)
def test_an_unusable_soul_is_named(tmp_path: Path, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / "SOUL.md").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        assistant.compose(tmp_path)
    assert str(tmp_path / "SOUL.md") in caught.value.message
    assert why in caught.value.message
    assert caught.value.hint == (f"ls -l {tmp_path}/SOUL.md" if content is not None else "push init")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_does_not_hold_anything_up(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "SOUL.md")
    with pytest.raises(ConfigError, match=r"not a regular file|directory"):
        assistant.compose(tmp_path)


def test_the_largest_soul_is_taken_whole(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_bytes(b"x" * MAX_BYTES)
    assert assistant.compose(tmp_path).startswith("x" * MAX_BYTES + "\n")
