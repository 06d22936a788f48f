"""Every test here gets a desk, and a Telegram in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.desk import Desk, desk
from tests.telegram.remote import FakeTelegram, separate


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    """A Telegram of this test's own."""
    with separate() as fake:
        yield fake


@pytest.fixture
def place(home: Path, tmp_path: Path, telegram: FakeTelegram) -> Iterator[Desk]:
    """A home with a configuration that says where Telegram is, and nothing else."""
    with desk(home, tmp_path, telegram) as made:
        yield made
