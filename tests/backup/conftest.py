"""Every test here gets a home, and where it asks for it a Telegram, and a place for a copy."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.channels.scene import Scene, scene
from tests.telegram.remote import FakeTelegram, separate

#: Slow enough that something is always open.
AGENT = """#!/bin/sh
m=$(cat)
printf '%s\\n' "$m" >> "$DIARY"
sleep 0.3
printf 're: %s\\n' "$m"
"""


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    """A Telegram of this test's own."""
    with separate() as fake:
        yield fake


@pytest.fixture
def original(home: Path, telegram: FakeTelegram) -> Iterator[Scene]:
    """A home of which a backup is made."""
    with scene(home, telegram, agent=AGENT) as made:
        yield made


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A short path at which there is nothing yet."""
    folder = Path(tempfile.mkdtemp(prefix="p", dir="/tmp"))
    yield folder / "copy"
    shutil.rmtree(folder)
