"""A row moves along an edge of its table, from the state in which it is, and leaves a step in its history."""

from __future__ import annotations

import pytest

from push.errors import ConflictError
from push.ledger.database import Database
from push.ledger.moves import StaleRow, move
from push.model.machines import TURN
from tests.ledger import lives


def history(db: Database) -> list[tuple[object, ...]]:
    return db.rows("SELECT machine, row_id, source, target, actor, reason FROM transition ORDER BY id")


BIRTH = ("turn", 1, None, "queued", "channel", None)


def test_a_move_sets_state_and_columns_and_leaves_a_step(db: Database) -> None:
    lives.accept(db)
    with db.write():
        move(db, TURN, 1, ("queued", "failed", "worker"), reason="configuration", detail="no agent")
    assert db.one("SELECT state, reason, detail FROM turn") == ("failed", "configuration", "no agent")
    assert history(db) == [BIRTH, ("turn", 1, "queued", "failed", "worker", "configuration")]


@pytest.mark.parametrize(
    ("edge", "error"),
    [
        (("queued", "answered", "worker"), ValueError),  # no edge
        (("queued", "running", "operator"), ValueError),  # not for him
        (("running", "answered", "worker"), StaleRow),  # not where it is
    ],
)
def test_any_other_move_changes_nothing(db: Database, edge: tuple[str, str, str], error: type[Exception]) -> None:
    lives.accept(db)
    with pytest.raises(error), db.write():
        move(db, TURN, 1, edge)
    assert lives.state_of(db, "turn", 1) == "queued"
    assert history(db) == [BIRTH]


def test_a_row_that_is_not_there_is_stale(db: Database) -> None:
    with pytest.raises(StaleRow) as caught, db.write():
        move(db, TURN, 7, ("queued", "running", "worker"))
    assert isinstance(caught.value, ConflictError)
    assert caught.value.code == "stale_row"


def test_of_two_who_want_it_one_gets_it(db: Database) -> None:
    turn = lives.accept(db)
    lives.start(db, turn)
    with pytest.raises(StaleRow):
        lives.start(db, turn)  # as it was when the other one read it
    assert lives.now(db, turn.id).attempt == 1
