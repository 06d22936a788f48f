"""A clock that jumps: no deadline moves, nothing is postponed for days, nothing is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.crash.site import Process, Site
from tests.crash.verdict import check

_DAY = 24 * 3600.0


class _Shifted:
    """A gateway whose clock the test turns."""

    def __init__(self, place: Site, seams: str = "") -> None:
        self._file = place.outside / "shift"
        self.turn(0)
        words = (sys.executable, "-m", "tests.integration.shifted", str(self._file), "run")
        self.process: Process = place.spawn(words, seams=seams)
        place.until_ready(self.process)

    def turn(self, seconds: float) -> None:
        fresh = Path(f"{self._file}.new")
        fresh.write_text(str(seconds))
        fresh.replace(self._file)


@pytest.mark.parametrize("shift", [600.0, 40 * _DAY, -600.0, -40 * _DAY])
def test_it_jumps_while_an_agent_is_at_work(gated: Site, shift: float) -> None:
    """Its run time is 10 minutes, and it has used none of it."""
    gateway = _Shifted(gated)
    gated.commit(("ann", "one"), ("ann", "two"))
    gated.until(gated.entries, "an agent at work")
    gateway.turn(shift)
    gated.commit(("bob", "three"))
    gated.until(lambda: "three" in gated.entries(), "another agent at work")
    gated.gate.touch()
    gated.until_states("answered", "answered", "answered")
    assert gated.listen("ann").out == "re: one\nre: two\n"
    check(gated)


@pytest.mark.parametrize("shift", [-2 * _DAY, 2 * _DAY])
def test_it_jumps_while_a_turn_is_postponed(place: Site, shift: float) -> None:
    """Half a minute of waiting must not become two days."""
    go_on = place.outside / "go-on"
    gateway = _Shifted(place, seams=f"turn.spooled=raise:ENOSPC;turn.postponed_committed=pause:{go_on}")
    place.commit(("ann", "one"))
    place.until(Path(f"{go_on}.reached").exists, "a postponed turn")
    gateway.process.kill()
    gateway = _Shifted(place)
    gateway.turn(shift)
    place.commit(("ann", "two"))  # its bell looks at the clock now
    place.until_states("answered", "answered")
    assert place.entries() == ["one", "two"]
    check(place)


def test_it_was_wrong_when_the_turn_was_postponed(place: Site) -> None:
    """Accepted and postponed in a year to come; the clock is set right; the turn is due."""
    gateway = _Shifted(place, seams="turn.spooled=raise:ENOSPC")
    gateway.turn(400 * _DAY)
    place.commit(("ann", "one"))
    place.until(lambda: place.turns()[0].reason == "enospc", "a postponed turn")
    gateway.process.kill()
    place.serve()
    place.until_states("answered")
    check(place)
