"""The transition tables are well formed: every state can be reached and left or is an end, and ends are ends."""

from __future__ import annotations

import pytest

from push.model.machines import MACHINES, TURN, Machine


@pytest.mark.parametrize("machine", MACHINES.values(), ids=lambda machine: machine.name)
def test_every_state_is_reachable_and_every_edge_names_states(machine: Machine) -> None:
    reached = set(machine.first)
    while more := {target for source, target, _ in machine.edges if source in reached} - reached:
        reached |= more
    assert reached == set(machine.states)
    assert {state for source, target, _ in machine.edges for state in (source, target)} <= set(machine.states)
    assert machine.open <= set(machine.states)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=lambda machine: machine.name)
def test_every_open_state_can_end(machine: Machine) -> None:
    ends = set(machine.states) - machine.open
    for state in machine.open:
        seen: set[str] = set()
        reached = {state}
        while reached - seen:
            seen = set(reached)
            reached |= {target for source, target, _ in machine.edges if source in seen}
        assert reached & ends, state


def test_an_edge_is_for_its_actors_only() -> None:
    assert TURN.allows("queued", "running", "worker")
    assert not TURN.allows("queued", "running", "operator")
    assert not any(source in {"answered", "failed", "cancelled", "merged"} for source, _, _ in TURN.edges)
