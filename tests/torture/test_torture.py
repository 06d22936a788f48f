"""The torture run, shortened, and its negative controls: what the full one proves is in the report of its numbers."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.site import GATED_AGENT, site
from tests.crash.verdict import check
from tests.torture.controls import CONTROLS
from tests.torture.judgement import Judgement, judge
from tests.torture.scene import Plan, Scene

pytestmark = [pytest.mark.slow, pytest.mark.crash]


def _run(home: Path, plan: Plan) -> Judgement:
    plan = replace(plan, seed=random.getrandbits(31))
    print(plan)
    with site(home) as place:
        scene = Scene(place, plan, print)
        print(scene.run())
        judgement = judge(scene)
        print(judgement)
        if not plan.without:
            check(place)
    return judgement


@pytest.mark.parametrize("consumers", [1, 2])
@pytest.mark.parametrize(("conversations", "messages"), [(20, 8), (120, 1)])
def test_nothing_is_lost_repeated_or_out_of_order(
    home: Path, conversations: int, messages: int, consumers: int
) -> None:
    plan = Plan(
        0,
        conversations,
        messages,
        consumers=consumers,
        consumer_kills=6,
        runner_kills=6,
        feeder_kills=1,
        screen_kills=2,
        queue_losses=1,
        every_seconds=0.8,
    )
    judgement = _run(home, plan)
    assert judgement.is_clean, judgement


@pytest.mark.parametrize("piece", CONTROLS)
def test_without_a_guard_it_fails(home: Path, piece: str) -> None:
    control = CONTROLS[piece]
    judgement = _run(home, replace(control.plan, without=piece))
    assert any(getattr(judgement, fault) for fault in control.faults), judgement


@pytest.mark.parametrize(
    ("piece", "guarded"), [("recheck", "none"), ("copies", "children"), ("unlock", "none"), ("mark", "none")]
)
def test_with_all_guards_the_same_run_is_clean(home: Path, piece: str, guarded: str) -> None:
    judgement = _run(home, replace(CONTROLS[piece].plan, without=guarded))
    assert judgement.is_clean, judgement


def test_without_the_watch_a_busy_conversation_takes_every_worker(home: Path) -> None:
    """What `test_a_busy_conversation_occupies_one_worker_however_often_it_rings` sees must be the watch's doing."""
    with site(home, agent=GATED_AGENT, more="turns_workers = 2") as place:
        consumer = place.spawn((sys.executable, "-m", "tests.torture.crippled", "watch", "consumer"))
        place.until_ready(consumer)
        place.commit(("ann", "one"))
        place.until(place.entries, "an agent at work")
        for number in range(4):
            place.commit(("ann", f"more {number}"))
        place.commit(("bob", "bob"))
        with pytest.raises(AssertionError, match="bob's agent"):
            place.until(lambda: "bob" in place.entries(), "bob's agent at work", 5)
