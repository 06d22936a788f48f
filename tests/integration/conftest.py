"""Every test here gets a home on which real processes of Push run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.site import AGENT, GATED_AGENT, Site, site


@pytest.fixture
def place(home: Path) -> Iterator[Site]:
    """A home whose agent writes a diary and answers at once."""
    with site(home, agent=AGENT.replace("sleep 0.1\n", "")) as made:
        yield made


@pytest.fixture
def gated(home: Path) -> Iterator[Site]:
    """A home whose agent writes a diary and answers when the test opens the gate."""
    with site(home, agent=GATED_AGENT) as made:
        yield made
