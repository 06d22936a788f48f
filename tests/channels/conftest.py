"""Every test here gets a home, and a Telegram in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.channels.scene import Scene, scene
from tests.telegram.remote import FakeTelegram, separate


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    """A Telegram of this test's own."""
    with separate() as fake:
        yield fake


@pytest.fixture
def place(home: Path, telegram: FakeTelegram) -> Iterator[Scene]:
    """A home with the agent that writes a diary; nothing of it lives on."""
    with scene(home, telegram) as made:
        yield made
