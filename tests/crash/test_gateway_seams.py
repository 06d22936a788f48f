"""kill -9 of the gateway at each of its commit points, while two conversations have work."""

from __future__ import annotations

import signal

import pytest

from tests.crash.site import Site
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

#: Where a whole turn passes.
SEAMS = (
    "turn.spooled",
    "turn.running_committed",
    "turn.runner_started",
    "turn.runner_ended",
    "turn.session_saved",
    "turn.before_answer_commit",
    "turn.answer_committed",
)


@pytest.mark.parametrize("seam", SEAMS)
def test_every_message_is_answered_once_and_run_once(place: Site, seam: str) -> None:
    gateway = place.serve(seams=f"{seam}=kill@3")
    terminals = {user: place.chat(user, *(f"{user}{number}" for number in range(3))) for user in ("ann", "bob")}
    assert gateway.wait() == -signal.SIGKILL
    place.serve()
    for user, terminal in terminals.items():
        assert terminal.wait() == 0, terminal.err
        assert terminal.out.split("\n")[:-1] == [f"re: {user}{number}" for number in range(3)]
    assert sorted(place.entries()) == [f"{user}{number}" for user in ("ann", "bob") for number in range(3)]
    check(place)


def test_a_command_is_answered_once(place: Site) -> None:
    gateway = place.serve(seams="turn.command_committed=kill")
    terminal = place.chat("ann", "/help", "one")
    assert gateway.wait() == -signal.SIGKILL
    place.serve()
    assert terminal.wait() == 0, terminal.err
    assert terminal.out.count("/help: this list") == 1
    assert terminal.out.endswith("\nre: one\n")
    check(place)


def test_an_interruption_is_counted_once(place: Site) -> None:
    once = place.root / "once"
    gateway = place.serve(seams=f"runner.agent_ended=kill:{once};turn.interrupted_committed=kill")
    terminal = place.chat("ann", "one")
    assert gateway.wait() == -signal.SIGKILL
    place.until_states("queued")
    place.serve()
    assert terminal.wait() == 0, terminal.err
    assert terminal.out == "re: one\n"
    assert place.entries() == ["one", "one (again)"]
    (turn,) = place.turns()
    assert (turn.attempt, turn.interruptions) == (2, 1)
    check(place)


#: In the order in which one turn, killed at each of them, comes past the next.
CHAIN = (
    "turn.spooled",
    "turn.running_committed",
    "turn.runner_started",
    "turn.session_saved",
    "turn.before_answer_commit",
    "turn.answer_committed",
)


def test_killed_over_and_over(place: Site) -> None:
    """Each gateway dies one commit further on; what was done once is not done again."""
    place.say("ann", "one")
    for seam in CHAIN:
        gateway = place.serve(seams=f"{seam}=kill")
        assert gateway.wait() == -signal.SIGKILL, seam
    place.serve()
    assert place.entries() == ["one"]
    assert place.listen("ann").out == "re: one\n"
    check(place)
