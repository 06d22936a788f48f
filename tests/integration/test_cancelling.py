"""Ending a turn at a person's wish, whatever it is doing at that moment."""

from __future__ import annotations

import json
import time

import pytest

from tests.crash.site import Site
from tests.crash.verdict import check


@pytest.fixture
def three(gated: Site) -> Site:
    """`one` runs, `two` and `three` wait behind it."""
    gated.serve()
    gated.commit(("ann", "one"), ("ann", "two"), ("ann", "three"))
    gated.until(gated.entries, "an agent at work")
    return gated


def test_a_running_one_ends_without_a_reply_and_the_next_goes_on(three: Site) -> None:
    process = three.cancel(1)
    assert process.wait() == 0
    assert process.out in {"Turn 1 is being stopped.\n", "Turn 1 is cancelled.\n"}  # it may have ended by then
    three.gate.touch()
    three.until_states("cancelled", "answered", "answered")
    assert three.entries() == ["one", "two", "three"]
    assert three.listen("ann").out == "re: two\nre: three\n"
    check(three)


def test_a_queued_one_never_runs(three: Site) -> None:
    process = three.cancel(2)
    assert process.wait() == 0
    assert process.out == "Turn 2 is cancelled.\n"
    three.gate.touch()
    three.until_states("answered", "cancelled", "answered")
    assert three.entries() == ["one", "three"]
    check(three)


def test_an_ended_one_is_refused(three: Site) -> None:
    three.gate.touch()
    three.until_settled(3)
    assert three.cancel(1).wait() == 6
    assert three.states() == ["answered"] * 3
    check(three)


def test_one_that_has_just_ended_keeps_its_answer(place: Site) -> None:
    """The result was written before the wish: what `result.json` says first wins."""
    go_on = place.root / "go-on"
    place.serve(seams=f"turn.runner_ended=pause:{go_on}")
    place.commit(("ann", "one"))
    place.until((place.root / "go-on.reached").exists, "a run that has ended")
    assert place.cancel(1).wait() == 0
    go_on.touch()
    place.until_states("answered")
    assert place.listen("ann").out == "re: one\n"
    check(place)


def test_one_that_has_not_yet_begun_its_agent_never_does(gated: Site) -> None:
    go_on = gated.root / "go-on"
    gated.serve(seams=f"turn.running_committed=pause:{go_on}")
    gated.commit(("ann", "one"))
    gated.until((gated.root / "go-on.reached").exists, "a run that is about to start")
    assert gated.cancel(1).wait() == 0
    go_on.touch()
    gated.until_states("cancelled")
    assert gated.entries() == []
    check(gated)


def test_all_at_once_by_several(three: Site) -> None:
    asked = [three.cancel(number) for number in (1, 2, 3, 1, 2, 3)]
    assert {process.wait() for process in asked} <= {0, 6}
    three.until_states("cancelled", "cancelled", "cancelled")
    check(three)


def test_c57_the_agent_sleeps_for_an_hour(gated: Site) -> None:
    """Cancel and status answer at once, and the message right after is not swallowed."""
    gated.agent.write_text('#!/bin/sh\nm=$(cat)\necho "$m" >> "$DIARY"\n[ "$m" = one ] && sleep 3600\necho "re: $m"\n')
    gated.serve()
    terminal = gated.chat("ann", "one")
    gated.until(gated.entries, "an agent at work")
    status = gated.run("status", "--json")
    assert status.wait() == 0
    assert json.loads(status.out)
    assert gated.cancel(1).wait() == 0
    began = time.monotonic()
    after = gated.chat("ann", "two")
    gated.until(lambda: gated.states()[0] == "cancelled", "a cancelled turn", 5)
    assert time.monotonic() - began < 5
    assert after.wait() == 0
    assert after.out == "re: two\n"
    assert terminal.wait() == 1
    check(gated)
