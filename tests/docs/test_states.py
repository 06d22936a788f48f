"""The page on states shows the transition tables, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from push.model.machines import OUTBOUND, TURN, Machine

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "states.md"


@pytest.mark.parametrize("machine", [TURN, OUTBOUND], ids=lambda machine: machine.name)
def test_the_table_is_the_machine(machine: Machine) -> None:
    section = PAGE.read_text().partition(f"## {machine.name.capitalize()}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", section, re.MULTILINE)
    shown = {state: set(re.findall(r"`(\w+)`", targets)) for state, targets in rows}
    told = {state: {edge[1] for edge in machine.edges if edge[0] == state} for state in machine.states}
    assert shown == told
