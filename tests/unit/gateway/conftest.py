"""A gateway's parts without its processes: a real ledger, a real state.json, real settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push import assistant
from push.config.load import load_or_default
from push.config.settings import Settings
from push.gateway import intake
from push.ledger import arrivals, turns
from push.ledger.database import Database
from push.model.values import Accepted, Inbound, Turn
from push.state import StateFile


@pytest.fixture
def settings(home: Path) -> Settings:
    made = load_or_default().with_agent("claude")
    assistant.scaffold_default(made.assistant_root)
    return made


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    database = Database.open(home / "push.db")
    yield database
    database.close()


@pytest.fixture
def state(home: Path) -> StateFile:
    return StateFile(home / "state.json")


class Sender:
    """Commits messages of one conversation and hands out their turns."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._count = 0

    def __call__(self, text: str, user: str = "ann", context: str | None = None) -> Turn:
        """Accept a message, which may be a command."""
        self._count += 1
        message = Inbound("local", f"local:{user}", user, f"x:{self._count}", user, text, 0, context=context)
        accepted = arrivals.accept(self._db, intake.classify(message))
        assert isinstance(accepted, Accepted)
        turn = turns.get(self._db, accepted.turn_id)
        assert turn is not None
        return turn


@pytest.fixture
def send(db: Database) -> Sender:
    return Sender(db)
