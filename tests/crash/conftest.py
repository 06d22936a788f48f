"""Every test here gets a home, and every one kills something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.site import Site, site


@pytest.fixture
def place(home: Path) -> Iterator[Site]:
    """A home with the agent that writes a diary; nothing of it lives on."""
    with site(home) as made:
        yield made
