"""A ledger, and a service that says of each part what the test wants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push.ledger.database import Database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database.open(tmp_path / "push.db")
    yield database
    database.close()
