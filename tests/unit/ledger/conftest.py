"""The ledger on both SQLite libraries."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from push.ledger import engine
from push.ledger.database import Database

LIBRARIES = ("cysqlite", "sqlite3")


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each library in turn, in the place of the one that would be chosen."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setattr(engine, "CYSQLITE", request.param == "cysqlite")
    return str(request.param)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty ledger, on the library that Push chooses here."""
    database = Database.open(tmp_path / "push.db")
    yield database
    database.close()
