"""kill -9 of a runner at each of its steps, with a gateway that lives and with one that was killed just before."""

from __future__ import annotations

import signal

import pytest

from push.seams import RUNNER_SEAMS
from tests.crash.site import Site
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

SEAMS = RUNNER_SEAMS

#: What the diary says when a runner was killed once at this step. Before the gate nothing ran, and nothing is told to
#: the agent; after it the agent may have begun, whether or not it came as far as its diary.
_DIARIES = {
    "runner.before_gate": (["one"],),
    "runner.agent_recorded": (["one (again)"],),
    "runner.agent_started": (["one (again)"], ["one", "one (again)"]),
    "runner.agent_ended": (["one", "one (again)"],),
    "runner.before_rename": (["one", "one (again)"],),
    "runner.renamed": (["one"],),
}


@pytest.mark.parametrize("seam", RUNNER_SEAMS)
def test_a_runner_dies_before_a_living_gateway(place: Site, seam: str) -> None:
    once = place.root / "once"
    place.serve(seams=f"{seam}=kill:{once}")
    terminal = place.chat("ann", "one", "two")
    assert terminal.wait() == 0, terminal.err
    assert once.exists()
    assert terminal.out == "re: one\nre: two\n"
    assert place.entries()[-1] == "two"
    assert place.entries()[:-1] in _DIARIES[seam]
    check(place)


@pytest.mark.parametrize("seam", RUNNER_SEAMS)
def test_a_runner_and_its_gateway_die(place: Site, seam: str) -> None:
    once = place.root / "once"
    gateway = place.serve(seams=f"turn.runner_started=kill;{seam}=kill:{once}")
    terminal = place.chat("ann", "one", "two")
    assert gateway.wait() == -signal.SIGKILL
    place.until(once.exists, "a runner that was killed")
    place.serve()
    assert terminal.wait() == 0, terminal.err
    assert terminal.out == "re: one\nre: two\n"
    assert place.entries()[-1] == "two"
    assert place.entries()[:-1] in _DIARIES[seam]
    check(place)


def test_a_second_interruption_ends_it_honestly(place: Site) -> None:
    place.serve(seams="runner.agent_ended=kill")
    terminal = place.chat("ann", "one")
    assert terminal.wait() == 1
    assert "interrupted twice" in terminal.out
    assert place.entries() == ["one", "one (again)"]
    (turn,) = place.turns()
    assert (turn.state, turn.reason) == ("failed", "interrupted")
    check(place)


@pytest.mark.slow
def test_a_runner_that_always_dies_before_its_agent_is_given_up(place: Site) -> None:
    """A broken interpreter must not become a loop that never ends and never says anything."""
    place.serve(seams="runner.before_gate=kill")
    terminal = place.chat("ann", "one")
    assert terminal.wait(60) == 1
    assert "could not be started" in terminal.out
    assert place.entries() == []
    (turn,) = place.turns()
    assert turn.attempt <= 12
    check(place)


def test_an_agent_that_is_killed_is_an_honest_failure(place: Site) -> None:
    place.agent.write_text('#!/bin/sh\ncat >> "$DIARY"; echo half; kill -9 $$\n')
    place.serve()
    terminal = place.chat("ann", "one")
    assert terminal.wait() == 1
    assert "The agent failed" in terminal.out
    assert place.entries() == ["one"]
    check(place)
