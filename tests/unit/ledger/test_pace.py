"""Send budgets and pauses: what is drawn, when it is free again, and that every process and restart respects it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from freezegun import freeze_time

from push import clock
from push.ledger import pace
from push.ledger.database import Database
from push.model.values import Pace

CHAT = Pace("chat:1", ((1, 1.0), (3, 60.0)))
ALL = Pace("", ((2, 1.0),))
NOON = "2026-03-01T12:00:00Z"


def free_in(db: Database, *budgets: Pace) -> int:
    """Milliseconds until a send is allowed."""
    return max(pace.free_at(db, "telegram", budgets) - clock.now_ms(), 0)


def take(db: Database, *budgets: Pace) -> None:
    with db.write():
        pace.take(db, "telegram", budgets)


def test_a_budget_that_nobody_used_is_free(db: Database) -> None:
    assert free_in(db, CHAT, ALL) == 0
    assert free_in(db) == 0


def test_each_limit_of_each_budget_is_kept(db: Database) -> None:
    with freeze_time(NOON) as now:
        take(db, CHAT, ALL)
        assert free_in(db, CHAT) == 1_000
        assert free_in(db, ALL) == 0, "its second place is free"
        now.tick(0.4)
        take(db, ALL)
        assert free_in(db, ALL) == 600
        now.tick(0.6)
        take(db, CHAT)
        assert free_in(db, CHAT) == 1_000, "since the last one"
        now.tick(1)
        take(db, CHAT)
        now.tick(2)
        assert free_in(db, CHAT) == 56_000, "three within the minute"
        now.tick(56)
        assert free_in(db, CHAT) == 0


def test_budgets_of_other_chats_and_channels_are_their_own(db: Database) -> None:
    with freeze_time(NOON):
        take(db, CHAT)
        assert free_in(db, Pace("chat:2", CHAT.limits)) == 0
        assert pace.free_at(db, "imessage", (CHAT,)) == clock.now_ms()


def test_only_as_much_is_kept_as_the_limits_look_at(db: Database) -> None:
    with freeze_time(NOON, auto_tick_seconds=100):
        for _ in range(10):
            take(db, CHAT)
    [(sent,)] = db.rows("SELECT json_array_length(sent) FROM pace")
    assert sent == 3


def test_try_take_draws_only_what_is_free(db: Database) -> None:
    with freeze_time(NOON) as now:
        assert pace.try_take(db, "telegram", (CHAT, ALL))
        assert not pace.try_take(db, "telegram", (CHAT, ALL))
        assert free_in(db, ALL) == 0, "what was refused has drawn nothing"
        now.tick(1)
        assert pace.try_take(db, "telegram", (CHAT, ALL))


def test_try_take_looks_again_where_nobody_can_come_between(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free at the first look, taken by another when we hold the writer's lock."""
    asked: list[int] = []
    free_at = pace.free_at

    def overtaken(*arguments: object) -> int:
        asked.append(len(asked))
        return free_at(*arguments) + 60_000 * (len(asked) - 1)  # type: ignore[arg-type]

    monkeypatch.setattr(pace, "free_at", overtaken)
    assert not pace.try_take(db, "telegram", (CHAT,))
    assert db.rows("SELECT * FROM pace") == []


def test_a_pause_stops_its_budget_and_no_other(db: Database) -> None:
    with freeze_time(NOON) as now:
        pace.pause(db, "telegram", CHAT.key, 37, "429")
        assert free_in(db, CHAT, ALL) == 37_000
        assert free_in(db, ALL) == 0
        assert not pace.try_take(db, "telegram", (ALL, CHAT))
        now.tick(37)
        assert free_in(db, CHAT) == 0


def test_the_longer_of_two_pauses_holds(db: Database) -> None:
    with freeze_time(NOON) as now:
        pace.pause(db, "telegram", CHAT.key, 60, "long")
        now.tick(10)
        pace.pause(db, "telegram", CHAT.key, 5, "short")
        assert free_in(db, CHAT) == 50_000
        assert [found.reason for found in pace.pauses(db)] == ["long"]
        pace.pause(db, "telegram", CHAT.key, 90, "longer")
        assert free_in(db, CHAT) == 90_000
        assert [found.reason for found in pace.pauses(db)] == ["longer"]


def test_a_pause_of_more_than_a_day_is_not_taken_for_a_clock_that_was_wrong(db: Database) -> None:
    with freeze_time(NOON) as now:
        pace.pause(db, "telegram", CHAT.key, 3 * 86_400, "429")
        assert free_in(db, CHAT) == pace.MAX_PAUSE_MS
        now.tick(1)
        assert free_in(db, CHAT) == pace.MAX_PAUSE_MS - 1_000


def test_a_pause_leaves_what_was_drawn(db: Database) -> None:
    with freeze_time(NOON) as now:
        for _ in range(3):
            take(db, CHAT)
        pace.pause(db, "telegram", CHAT.key, 5, "429")
        now.tick(5)
        assert free_in(db, CHAT) == 55_000


def test_a_pause_that_is_over_makes_room_for_a_shorter_one(db: Database) -> None:
    with freeze_time(NOON) as now:
        pace.pause(db, "telegram", CHAT.key, 60, "first")
        now.tick(61)
        assert pace.pauses(db) == []
        pace.pause(db, "telegram", CHAT.key, 5, "second")
        [found] = pace.pauses(db)
        assert (found.channel, found.key, found.until, found.reason) == (
            "telegram",
            CHAT.key,
            clock.now_ms() + 5_000,
            "second",
        )


def test_a_pause_of_a_clock_that_was_wrong_holds_nobody(db: Database) -> None:
    with freeze_time("2027-03-01T12:00:00Z"):
        pace.pause(db, "telegram", CHAT.key, 60, "written a year ahead")
    with freeze_time(NOON):
        assert free_in(db, CHAT) == 0
        assert pace.pauses(db) == []
        pace.pause(db, "telegram", CHAT.key, 5, "429")
        assert free_in(db, CHAT) == 5_000, "a wrong one is no longer pause that would be kept"


def test_sends_of_a_clock_that_was_wrong_hold_nobody_and_are_forgotten(db: Database) -> None:
    with freeze_time("2027-03-01T12:00:00Z"):
        for _ in range(3):
            take(db, CHAT)
    with freeze_time(NOON) as now:
        for _ in range(3):
            assert free_in(db, CHAT) == 0
            take(db, CHAT)
            now.tick(1)
        assert free_in(db, CHAT) == 57_000


def test_the_clock_set_back_a_little_holds_for_a_window_at_most(db: Database) -> None:
    with freeze_time(NOON) as now:
        take(db, CHAT)
        now.move_to("2026-03-01T11:59:30Z")
        assert free_in(db, CHAT) <= 1_000


def test_every_process_and_every_restart_respects_it(tmp_path: Path) -> None:
    path = tmp_path / "push.db"
    with freeze_time(NOON):
        with closing(Database.open(path)) as db:
            take(db, CHAT)
            pace.pause(db, "telegram", ALL.key, 37, "429")
        with closing(Database.open(path)) as db:
            assert (free_in(db, CHAT), free_in(db, ALL)) == (1_000, 37_000)
