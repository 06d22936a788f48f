"""docs/how-to/repair.md has a word for everything that doctor can find."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_GIVEN = re.compile(r'\b(?:failed|warning|report)\(\s*[\w."]+,\s*f?"([^"]+)"(?: if \w+ else "(\w+)")?')
#: Those that are put together, and those that an error of ours brings along.
_OTHERS = {
    *("delivery_failed", "delivery_unknown", "state_corrupt", "soul_unusable", "ledger_locked", "disk_failing"),
    *("agent_not_logged_in", "agent_silent", "agent_output", "agent_failed", "schema_newer", "foreign_database"),
}


def test_every_finding_has_its_place_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "repair.md").read_text()
    explained = set(re.findall(r"`(\w+)`", page))
    found = set(_OTHERS)
    for module in (ROOT / "push" / "doctor").glob("*.py"):
        for match in _GIVEN.finditer(module.read_text()):
            found |= {code for code in match.groups() if code and "{" not in code}
    assert len(found) > 50
    assert found - explained == set()
