"""Floods, conflicts, rivals and silence: what is asked is heeded, what is down is waited for, others go on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from push.app.gear import open_gear
from push.app.poller import Poller
from push.config import load
from push.ledger import listing
from push.providers.registry import reader_for
from push.providers.telegram import reading
from push.tasks import roles
from push.tasks.bells import Bells
from tests.channels.scene import Scene, scene
from tests.crash.verdict import check
from tests.telegram.records import Request
from tests.telegram.remote import FakeTelegram

pytestmark = pytest.mark.crash

_CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


def _to(telegram: FakeTelegram, chat: int) -> list[Request]:
    return [request for request in telegram.requests() if request.chat == chat]


def _gaps(requests: list[Request]) -> list[float]:
    return [after.monotonic - before.monotonic for before, after in pairwise(requests)]


def test_c12_three_floods_are_waited_out_each(place: Scene) -> None:
    place.serve()
    place.telegram.flood("sendMessage", 2, chat=7, times=3)
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    sends = place.telegram.requests("sendMessage")
    assert [request.status for request in sends] == [429, 429, 429, 200]
    assert all(2.0 <= gap < 4.0 for gap in _gaps(sends))
    assert place.telegram.violations() == []
    place.until_deliveries("delivered")
    assert place.deliveries()[0][2:] == (1, 0)  # what was not executed is no attempt, and nothing is repeated
    check(place)


def test_c12_a_flood_of_polls_is_waited_out_across_a_restart(place: Scene) -> None:
    place.telegram.flood("getUpdates", 4)
    gateway = place.serve()
    place.until(lambda: "rate_limited" in place.status(), "the flood in the status")
    gateway.kill()
    place.telegram.say(7, "hello")
    place.serve()
    assert place.until_answered(7) == ["re: hello"]
    assert place.telegram.violations() == []
    first = place.telegram.requests("getUpdates")[0].monotonic
    own = [request for request in place.telegram.requests() if request.monotonic - first < 4 and request.number > 3]
    assert [request.method for request in own] == []


def test_c12_floods_of_what_concerns_no_chat_are_waited_out(place: Scene) -> None:
    """Who we are, the menu of commands, and what is shown to whoever pressed a button."""
    place.telegram.flood("getMe", 2)
    place.telegram.flood("setMyCommands", 1000)
    place.telegram.flood("answerCallbackQuery", 1000)
    gateway = place.serve()
    place.until_telegram(lambda: place.telegram.requests("setMyCommands"), "the menu")
    assert gateway.stop() == 0, gateway.err
    place.serve()
    for number in range(2):
        query = {"id": f"{number}", "from": {"id": 7, "is_bot": False}, "chat_instance": "1", "data": "of old"}
        place.telegram.add_update({"callback_query": query})
        place.until_telegram(lambda: not place.telegram.unconfirmed(), "the press confirmed")
        place.until_telegram(lambda: place.telegram.requests("answerCallbackQuery"), "an answer to the first press")
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    assert place.telegram.violations() == []
    assert [request.status for request in place.telegram.requests("getMe")] == [429, 200, 200]
    for method in ("setMyCommands", "answerCallbackQuery"):
        assert [request.status for request in place.telegram.requests(method)] == [429]
    assert "menu" not in place.status()
    check(place)


def test_c13_a_long_flood_silences_one_chat_across_a_restart(place: Scene) -> None:
    gateway = place.serve()
    place.telegram.flood("sendMessage", 1000, chat=7)
    place.telegram.say(7, "hello")
    place.until(lambda: [row[0] for row in place.deliveries()] == ["waiting"], "a pause")
    before = _to(place.telegram, 7)[-1].number
    assert before == place.telegram.requests("sendMessage")[0].number

    place.telegram.say(7, "and this")
    place.telegram.say(7, "/help")
    place.telegram.say(8, "hello")
    assert place.until_answered(8) == ["re: hello"]
    place.until(lambda: [row[0] for row in place.deliveries()].count("delivered") == 1, "its receipt")
    gateway.kill()
    gateway = place.serve()
    place.telegram.say(9, "hello")
    assert place.until_answered(9) == ["re: hello"]
    place.until_states(*["answered"] * 5)
    assert [request.method for request in _to(place.telegram, 7) if request.number > before] == []
    assert "too_many_requests" in place.listed()

    assert gateway.stop() == 0  # let the pause be over in a moment
    now = "CAST(1000 * (julianday('now') - 2440587.5) * 86400 AS INTEGER)"
    place.change(
        f"UPDATE pace SET paused_until = {now} + 1500 WHERE paused_until IS NOT NULL",
        f"UPDATE outbound SET not_before = {now} + 1500 WHERE not_before IS NOT NULL",
    )
    place.serve()
    texts = place.until_answered(7, 3)
    assert texts[0].startswith("/")  # control answers overtake
    assert texts[1:] == ["re: hello", "re: and this"]
    place.until_deliveries(*["delivered"] * 5)
    check(place)


def test_c15_conflicts_are_waited_out_without_a_hot_loop(place: Scene) -> None:
    place.telegram.fail("getUpdates", 409, _CONFLICT, times=2)
    place.telegram.say(7, "hello")
    gateway = place.serve()
    place.until(lambda: "another" in place.status(), "the conflict in the status")
    assert place.until_answered(7) == ["re: hello"]
    refused = [request for request in place.telegram.requests("getUpdates") if request.status == 409]
    assert len(refused) == 2
    assert all(gap > 2.5 for gap in _gaps(refused))
    place.until(lambda: "another" not in place.status(), "a good status")
    assert gateway.err.count("another_poller") == 1
    check(place)


def test_c16_a_second_gateway_on_the_home_is_refused_and_the_first_goes_on(place: Scene) -> None:
    gateway = place.serve()
    second = place.run("run")
    assert second.wait() == 6
    assert str(gateway.pid) in second.err
    assert place.run("poll").wait() == 6
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    assert gateway.is_running


def test_c16_two_homes_with_one_token_take_turns_and_neither_dies(place: Scene, telegram: FakeTelegram) -> None:
    other_home = Path(tempfile.mkdtemp(prefix="p", dir="/tmp"))
    first = place.serve()
    with scene(other_home, telegram) as other:
        second = other.serve()
        place.until_telegram(
            lambda: [one for one in telegram.requests("getUpdates") if one.status == 409][1:], "two conflicts"
        )
        polls = telegram.requests("getUpdates")
        assert len(polls) / (polls[-1].monotonic - polls[0].monotonic) < 4
        for person in range(7, 10):
            telegram.say(person, "hello")
            place.until_answered(person)
        assert first.is_running
        assert second.is_running
        place.until(lambda: "another" in place.status() + other.status(), "the conflict in a status")
        assert second.stop() == 0
    shutil.rmtree(other_home)
    telegram.say(10, "alone again")
    assert place.until_answered(10)[-1] == "re: alone again"
    assert first.stop() == 0


def test_c16_a_stale_role_of_an_unrelated_process_is_taken_over_and_nobody_is_signalled(place: Scene) -> None:
    unrelated = place.spawn(("sleep", "60"))
    gateway = place.serve()
    role = place.root / "run" / "poll.role"
    gateway.kill()
    content = json.loads(role.read_text())
    assert content["pid"] == gateway.pid
    for file in (place.root / "run").glob("*.role"):
        file.write_text(json.dumps(content | {"pid": unrelated.pid}))
    gateway = place.serve()
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    assert place.run("run").wait() == 6
    assert gateway.stop() == 0
    assert unrelated.is_running


def test_c17_a_poll_that_is_never_answered_ends_and_is_asked_again(
    place: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, where the deadline can be shortened."""
    monkeypatch.setattr(Poller._read, "__defaults__", (1,))
    monkeypatch.setattr(reading, "ANSWER_SECONDS", 0.5)
    settings = load(place.config)
    gear = open_gear(settings)
    reader = reader_for("telegram", settings)
    assert reader is not None
    role = roles.take(settings.home.run, "poll", "a test")
    bells = Bells(settings.home)
    loop = Poller(gear, reader, bells, role)
    place.telegram.disturb("getUpdates", "silence", seconds=60, times=2)
    loop.start()
    try:
        place.until_telegram(lambda: len(place.telegram.requests("getUpdates")) == 1, "a poll")
        place.telegram.say(7, "hello")
        place.until_states("queued")
        polls = place.telegram.requests("getUpdates")
        assert [poll.fault for poll in polls[:3]] == ["silence", "silence", None]
        assert all(gap < 5 for gap in _gaps(polls[:3]))
        place.until(lambda: "last good poll" in place.status(), "the last good poll in the status")
        assert listing.turn_record(gear.db, 1) is not None
    finally:
        gear.stop.set()
        assert loop.join()
        role.close()
        bells.close()
        gear.channels.close()
        gear.db.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("poll-")]


def test_c17_a_machine_that_slept_goes_on_with_new_connections(place: Scene) -> None:
    gateway = place.serve()
    place.telegram.say(7, "before")
    place.until_answered(7)
    place.until_deliveries("delivered")
    os.kill(gateway.pid, signal.SIGSTOP)
    try:
        place.telegram.refuse_connections()
        place.telegram.accept_connections()
        place.telegram.say(7, "while asleep")
    finally:
        os.kill(gateway.pid, signal.SIGCONT)
    assert place.until_answered(7, 2) == ["re: before", "re: while asleep"]
    check(place)
