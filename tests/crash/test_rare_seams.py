"""kill -9 at the commit points off the usual way: postponed, told to come back, cancelled."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.site import GATED_AGENT, Site, site
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

SEAMS = (
    "turn.delayed_committed",
    "turn.resumed_committed",
    "turn.postponed_committed",
    "turn.cancelled_committed",
    "turn.cancel_asked",
)


@pytest.fixture
def place(home: Path) -> Iterator[Site]:
    with site(home, agent=GATED_AGENT) as made:
        yield made


def _reason(place: Site) -> str | None:
    return place.turns()[0].reason


def test_killed_when_the_agent_was_to_be_tried_again_later(place: Site) -> None:
    place.gate.touch()
    place.say("ann", "one", "two")
    with place.agent.open("a"):  # a program that is being written cannot be executed: tried again after a while
        gateway = place.serve(seams="turn.delayed_committed=kill")
        assert gateway.wait() == -signal.SIGKILL
    assert place.states() == ["waiting", "queued"]
    place.make_due()
    gateway = place.serve(seams="turn.resumed_committed=kill")
    assert gateway.wait() == -signal.SIGKILL
    assert place.states() == ["queued", "queued"]
    place.serve()
    place.until_states("answered", "answered")
    assert place.entries() == ["one", "two"]
    assert place.listen("ann").out == "re: one\nre: two\n"
    check(place)


def test_killed_when_a_full_disk_had_postponed_it(place: Site) -> None:
    place.gate.touch()
    place.say("ann", "one", "two")
    gateway = place.serve(seams="turn.spooled=raise:ENOSPC;turn.postponed_committed=kill")
    assert gateway.wait() == -signal.SIGKILL
    assert place.states() == ["queued", "queued"]
    assert _reason(place) == "enospc"
    place.make_due()
    place.serve()
    place.until_states("answered", "answered")
    assert place.entries() == ["one", "two"]
    check(place)


@pytest.mark.parametrize("seam", ["turn.cancelled_committed", "turn.cancel_asked"])
def test_who_cancels_is_killed_when_it_was_asked_or_done(place: Site, seam: str) -> None:
    """The first message runs, so it is asked to end; the second has not begun, so it is done at once."""
    place.serve()
    place.say("ann", "one", "two", "three")
    place.until_states("running", "queued", "queued")
    place.until(place.entries, "an agent at work")
    wanted = 1 if seam == "turn.cancel_asked" else 2
    assert place.cancel(wanted, seams=f"{seam}=kill").wait() == -signal.SIGKILL
    place.until(lambda: place.states()[wanted - 1] == "cancelled", "a cancelled turn")
    place.gate.touch()
    place.until_settled(3)
    left = [text for number, text in ((1, "one"), (2, "two"), (3, "three")) if number != wanted]
    assert place.listen("ann").out == "".join(f"re: {text}\n" for text in left)
    check(place)


def test_the_gateway_is_killed_when_it_had_cancelled(place: Site) -> None:
    gateway = place.serve(seams="turn.cancelled_committed=kill")
    place.say("ann", "one", "two")
    place.until(place.entries, "an agent at work")
    assert place.cancel(1).wait() == 0
    assert gateway.wait() == -signal.SIGKILL
    place.gate.touch()
    place.serve()
    place.until_states("cancelled", "answered")
    assert place.entries() == ["one", "two"]
    check(place)


def test_cancelled_with_no_gateway_alive(place: Site) -> None:
    """The runner obeys by itself; whoever starts next finds that it was cancelled."""
    gateway = place.serve()
    place.say("ann", "one")
    place.until(place.entries, "an agent at work")
    gateway.kill()
    assert place.cancel(1).wait() == 0
    place.until(lambda: not place.runners(), "a runner that has obeyed")
    place.serve()
    place.until_states("cancelled")
    check(place)


def test_its_runner_dies_while_it_obeys(place: Site) -> None:
    """A wish that was heard stays one, though nobody repeats it: the turn is cancelled, not interrupted and resumed."""
    once = place.outside / "once"
    place.serve(seams=f"runner.before_rename=kill:{once}")
    place.say("ann", "one")
    place.until(place.entries, "an agent at work")
    assert place.cancel(1, seams="turn.cancel_asked=kill").wait() == -signal.SIGKILL
    place.until_states("cancelled")
    assert once.exists()
    assert place.entries() == ["one"]
    check(place)
