"""No schedule of sends, over whatever budgets, ever exceeds a limit in any window."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from freezegun import freeze_time
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from push import clock
from push.ledger import pace
from push.ledger.database import Database
from push.model.values import Pace

LIMITS = st.lists(st.tuples(st.integers(1, 4), st.sampled_from((0.5, 1.0, 3.0, 10.0))), min_size=1, max_size=3).map(
    tuple
)
#: How long somebody waits before he wants to send to which chat, and whether he waits until he may.
WISHES = st.lists(st.tuples(st.integers(0, 4_000), st.sampled_from("ab"), st.booleans()), min_size=1, max_size=30)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(chat=LIMITS, channel=LIMITS, wishes=WISHES, pause=st.tuples(st.integers(0, 29), st.sampled_from((0.7, 5.0))))
def test_no_schedule_exceeds_a_limit(
    chat: tuple[tuple[int, float], ...],
    channel: tuple[tuple[int, float], ...],
    wishes: list[tuple[int, str, bool]],
    pause: tuple[int, float],
) -> None:
    sent: dict[str, list[int]] = {"a": [], "b": [], "": []}
    paused = (0, 0)  # how many were sent before, and until when none may be
    with (
        tempfile.TemporaryDirectory() as folder,
        freeze_time("2026-03-01T12:00:00Z") as now,
        closing(Database.open(Path(folder) / "push.db")) as db,
    ):
        for number, (delay, key, patient) in enumerate(wishes):
            now.tick(delay / 1000)
            if number == pause[0]:
                pace.pause(db, "telegram", "a", pause[1], "429")
                paused = (len(sent["a"]), clock.now_ms() + int(pause[1] * 1000))
            budgets = (Pace(key, chat), Pace("", channel))
            if patient:
                now.tick(max(pace.free_at(db, "telegram", budgets) - clock.now_ms(), 0) / 1000)
                assert pace.try_take(db, "telegram", budgets), "free when it said that it would be"
            elif not pace.try_take(db, "telegram", budgets):
                continue
            for taken in (key, ""):
                sent[taken].append(clock.now_ms())
    for key, limits in (("a", chat), ("b", chat), ("", channel)):
        for count, seconds in limits:
            for first, later in zip(sent[key], sent[key][count:], strict=False):
                assert later - first >= seconds * 1000, f"{count + 1} within {seconds} s"
    assert all(at >= paused[1] for at in sent["a"][paused[0] :])
