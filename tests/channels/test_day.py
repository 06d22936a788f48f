"""A day in six seconds: no limit broken, no early retry, nothing lost, what came twice marked and listed."""

from __future__ import annotations

import random

import pytest

from tests.channels.day import Day, Plan, judge
from tests.channels.scene import Scene

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def test_a_day_of_thirty_chats_with_faults(place: Scene) -> None:
    day = Day(place, Plan(chats=30, messages=2, seconds=6.0, seed=random.getrandbits(32)))
    print(day.plan)
    day.play()
    assert judge(day) == []
