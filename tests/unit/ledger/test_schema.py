"""The schema says what the machines say."""

from __future__ import annotations

import re

import pytest

from push.ledger.database import Database
from push.ledger.schema import OUTBOUND_OPEN, OUTBOUND_STUCK, TURN_OPEN, in_list
from push.model.machines import OUTBOUND, TURN, Machine


def sql_of(db: Database, name: str) -> str:
    row = db.one("SELECT sql FROM sqlite_master WHERE name = ?", (name,))
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize("machine", [TURN, OUTBOUND], ids=lambda machine: machine.name)
def test_a_check_allows_the_machines_states_and_no_other(db: Database, machine: Machine) -> None:
    found = re.search(r"state TEXT NOT NULL CHECK \(state IN \(([^)]*)\)\)", sql_of(db, machine.name))
    assert found is not None
    assert tuple(re.findall(r"'(\w+)'", found[1])) == machine.states


@pytest.mark.parametrize(
    ("index", "states"),
    [("turn_open", TURN_OPEN), ("outbound_open", OUTBOUND_OPEN), ("outbound_stuck", OUTBOUND_STUCK)],
)
def test_a_partial_index_has_the_predicate_of_the_queries(db: Database, index: str, states: str) -> None:
    assert sql_of(db, index).endswith(f"WHERE state IN {states}")


def test_open_means_what_the_machines_say() -> None:
    assert in_list(TURN.open) == TURN_OPEN == "('interrupted','queued','running','waiting')"
    assert in_list(OUTBOUND.open) == OUTBOUND_OPEN == "('pending','sending','waiting')"
