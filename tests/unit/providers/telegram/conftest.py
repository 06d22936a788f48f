"""A scripted server for each test of what is asked of the Bot API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.providers.telegram.scripted import Script, scripted


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted() as running:
        yield running
