"""The control plane through the real processes and a Telegram of its own: stop, status, now, and the signs of life."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from tests.channels.scene import PEOPLE, WAITS, Scene, scene
from tests.telegram.remote import FakeTelegram, separate

#: Works for an hour at every message that begins with "sleep", with a child; answers others at once.
SLEEPER = """#!/bin/sh
m=$(cat)
printf '%s\\n' "$m" >> "$DIARY"
case "$m" in
sleep*) sleep 3601 & sleep 3600 ;;
*) printf 're: %s\\n' "$m" ;;
esac
"""
ANN = PEOPLE[0]
#: Within a second, in the words of DESIGN.md; the machine of the tests is shared.
A_SECOND = 1.0


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with separate() as fake:
        yield fake


@contextmanager
def _site(home: Path, telegram: FakeTelegram, more: str = "") -> Iterator[Scene]:
    with scene(home, telegram, agent=SLEEPER, more=more) as made:
        yield made
        made.end_all()
        for pid in _sleepers(made):  # what a killed runner leaves is the next gateway's to end
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def place(home: Path, telegram: FakeTelegram) -> Iterator[Scene]:
    with _site(home, telegram) as made:
        yield made


@pytest.fixture
def chatty(home: Path, telegram: FakeTelegram) -> Iterator[Scene]:
    """With progress messages."""
    with _site(home, telegram, 'progress = "message"') as made:
        yield made


def _asleep(place: Scene, count: int = 1) -> None:
    place.until(lambda: len([line for line in place.entries() if line.startswith("sleep")]) >= count, "asleep agents")


def _sleepers(place: Scene) -> list[int]:
    """The processes of this home's agents that sleep."""
    found = []
    wanted = f"PUSH_HOME={place.root}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_sleep = (folder / "cmdline").read_bytes().startswith(b"sleep\x00360")
            if is_sleep and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _answered(place: Scene, chat: int, begins: str, after: int = 0) -> Callable[[], list[str]]:
    return lambda: [text for text in place.answers(chat)[after:] if text.startswith(begins)]


def _rest() -> None:
    """A chat takes one message a second: an answer that comes sooner after another one would wait for that."""
    time.sleep(1.1)


def _timed(place: Scene, chat: int, command: str, begins: str) -> float:
    """Say a command; returns the seconds until its answer arrived."""
    before = len(place.answers(chat))
    begun = time.monotonic()
    place.telegram.say(chat, command)
    place.until_telegram(_answered(place, chat, begins, before), f"an answer to {command}")
    return time.monotonic() - begun


def test_c57_stop_and_status_are_answered_beside_a_run_and_what_follows_is_run(place: Scene) -> None:
    place.serve()
    place.telegram.say(ANN, "sleep")
    _asleep(place)
    place.until(lambda: len(_sleepers(place)) == 2, "the agent's processes")
    assert _timed(place, ANN, "/status", "Here: command has been at work for") < A_SECOND
    _rest()
    begun = time.monotonic()
    place.telegram.say(ANN, "/stop")
    place.telegram.say(ANN, "right after")
    place.until_telegram(_answered(place, ANN, "Stopping message 1, at work for"), "an answer to /stop")
    assert time.monotonic() - begun < A_SECOND
    place.until_telegram(_answered(place, ANN, "re: right after"), "the message after /stop")
    assert place.states() == ["cancelled", "answered", "answered", "answered"]
    place.until(lambda: not _sleepers(place), "the end of what was stopped")


def test_c24_stop_is_recognised_after_emoji_and_with_the_bots_name(place: Scene) -> None:
    place.serve()
    place.telegram.say(ANN, "sleep")
    _asleep(place)
    bot = place.telegram.requests("getMe")[0].result["username"]
    text = f"🎩🎩 /stop@{bot}"
    entity = {"type": "bot_command", "offset": 5, "length": 6 + len(bot)}
    place.telegram.say(ANN, text, entities=[entity])
    place.until_telegram(_answered(place, ANN, "Stopping message 1"), "an answer to /stop")


def test_c18_a_stalled_typing_holds_up_nothing(place: Scene) -> None:
    place.telegram.disturb("sendChatAction", "silence", seconds=120.0, times=None)
    place.serve()
    for chat in PEOPLE[:4]:
        place.telegram.say(chat, "sleep")
    _asleep(place, 4)
    place.until_telegram(lambda: len(place.telegram.requests("sendChatAction")) >= 2, "typing that stalls")
    assert _timed(place, PEOPLE[0], "/stop", "Stopping message") < A_SECOND
    assert _timed(place, PEOPLE[5], "hello", "re: hello") < 2 * A_SECOND


@pytest.mark.slow
def test_typing_is_shown_at_once_and_again_until_the_answer(place: Scene) -> None:
    place.serve()
    place.until_polled()
    place.telegram.say(ANN, "sleep")
    place.until_telegram(lambda: len(place.telegram.requests("sendChatAction")) >= 3, "typing three times")
    times = [request.monotonic for request in place.telegram.requests("sendChatAction")]
    assert all(3.5 < later - earlier < 6 for earlier, later in pairwise(times)), times
    _timed(place, ANN, "/stop", "Stopping")
    place.until_states("cancelled", "answered")
    shown = len(place.telegram.requests("sendChatAction"))
    time.sleep(4.5)
    assert len(place.telegram.requests("sendChatAction")) == shown


def test_now_stops_what_runs_and_goes_before_what_waits(place: Scene) -> None:
    place.serve()
    place.telegram.say(ANN, "sleep")
    _asleep(place)
    place.telegram.say(ANN, "waiting")
    place.telegram.say(ANN, "/now urgent")
    place.until_telegram(_answered(place, ANN, "re: waiting"), "the one that waited")
    assert [text for text in place.answers(ANN) if text.startswith("re:")] == ["re: urgent", "re: waiting"]
    assert place.states() == ["cancelled", "answered", "answered"]


def test_stop_all_takes_back_what_waits_too(place: Scene) -> None:
    place.serve()
    place.telegram.say(ANN, "sleep")
    _asleep(place)
    for number in range(3):
        place.telegram.say(ANN, f"m{number}")
    place.telegram.say(ANN, "/stop all")
    place.telegram.say(ANN, "after")
    place.until_telegram(_answered(place, ANN, "re: after"), "the message after /stop all")
    assert [text.split(",")[0] for text in place.answers(ANN) if text.startswith("Stopping")] == ["Stopping message 1"]
    assert any("Took back 3 messages more." in text for text in place.answers(ANN))
    assert [line for line in place.entries() if line.startswith("m")] == []


@pytest.mark.parametrize("seam", ["control.carried_out", "turn.cancel_asked"])
def test_a_stop_that_is_cut_short_by_a_crash_stops_no_second_message(place: Scene, seam: str) -> None:
    gateway = place.serve(seams=f"{seam}=kill")
    place.telegram.say(ANN, "sleep")
    _asleep(place)
    place.telegram.say(ANN, "next")
    place.telegram.say(ANN, "/stop")
    assert gateway.wait() == -signal.SIGKILL
    place.serve()
    place.until_telegram(_answered(place, ANN, "re: next"), "the message that waited")
    place.until_telegram(lambda: _answered(place, ANN, "Stopping")() or _answered(place, ANN, "Message 1 is")(), "word")
    assert place.states() == ["cancelled", "answered", "answered"]


@pytest.mark.slow
def test_a_waiting_message_is_acknowledged_once_and_quick_ones_never(place: Scene) -> None:
    place.serve()
    for number in range(5):
        place.telegram.say(PEOPLE[1], f"quick {number}")
    place.telegram.say(ANN, "sleep")
    _asleep(place)
    place.telegram.say(ANN, "one")
    place.telegram.say(ANN, "two")
    place.until_telegram(lambda: _acknowledged(place, ANN), "an acknowledgement")
    place.telegram.say(ANN, "/stop")
    place.until_telegram(_answered(place, ANN, "re: two"), "both answers")
    (text,) = _acknowledged(place, ANN)
    assert text.startswith("🕒 2 messages wait")
    assert _acknowledged(place, PEOPLE[1]) == []


def _acknowledged(place: Scene, chat: int) -> list[str]:
    return [sent.text for sent in place.telegram.sent(chat) if sent.text.startswith(WAITS)]


def _progress(place: Scene, chat: int) -> list[str]:
    return [sent.text for sent in place.telegram.sent(chat) if sent.text.startswith("⏳") and not sent.deleted]


@pytest.mark.slow
def test_progress_is_posted_and_its_button_stops_the_run(chatty: Scene) -> None:
    chatty.serve()
    chatty.telegram.say(ANN, "sleep")
    chatty.until_telegram(lambda: _progress(chatty, ANN), "a progress message", 40)
    chatty.telegram.press(ANN, "stop:1")
    chatty.until_telegram(lambda: not _progress(chatty, ANN), "its removal")
    chatty.until_states("cancelled")
    (pressed,) = chatty.telegram.requests("answerCallbackQuery")
    assert pressed.parameters["text"] == "Stopping."
    assert chatty.telegram.violations() == []


@pytest.mark.slow
@pytest.mark.parametrize("seam", ["progress.posted=kill", ""])
def test_progress_is_removed_also_after_a_crash(chatty: Scene, seam: str) -> None:
    gateway = chatty.serve(seams=seam)
    chatty.telegram.say(ANN, "sleep")
    chatty.until_telegram(lambda: _progress(chatty, ANN), "a progress message", 40)
    if not seam:  # a kill before the row is there leaves an orphan
        chatty.until(lambda: chatty.query("SELECT * FROM progress"), "its row")
        gateway.kill()
    gateway.wait()
    chatty.telegram.say(ANN, "/stop")
    chatty.serve()
    chatty.until_telegram(lambda: not _progress(chatty, ANN), "its removal")
    chatty.until(lambda: not chatty.query("SELECT * FROM progress"), "an empty table")
    chatty.until_states("cancelled", "answered")


@pytest.mark.slow
def test_an_orphan_goes_when_its_button_is_pressed(chatty: Scene) -> None:
    gateway = chatty.serve(seams="progress.sent=kill")
    chatty.telegram.say(ANN, "sleep")
    assert gateway.wait(40) == -signal.SIGKILL
    chatty.telegram.say(ANN, "/stop")
    chatty.serve()
    chatty.until_states("cancelled", "answered")
    # Where /stop came late, the run had a second message, whose row is removed after the turn's end.
    chatty.until_telegram(lambda: len(_progress(chatty, ANN)) == 1, "the orphan alone")
    chatty.telegram.press(ANN, "stop:1")
    chatty.until_telegram(lambda: not _progress(chatty, ANN), "its removal")


@pytest.mark.slow
def test_c57_twenty_sleepers_four_stalled_sends_and_a_429_hold_up_no_command(place: Scene) -> None:
    place.serve()
    sleepers, stalled, flooded = PEOPLE[:20], PEOPLE[20:24], PEOPLE[24]
    for chat in sleepers:
        place.telegram.say(chat, "sleep")
    _asleep(place, 20)
    for chat in stalled:
        place.telegram.disturb("sendMessage", "silence", seconds=60.0, chat=chat, times=None)
        place.telegram.say(chat, "hello")
        place.telegram.say(chat, "/status")  # its answer stalls as well, in the lane of all such answers
    place.telegram.flood("sendMessage", retry_after=30, chat=flooded)
    place.telegram.say(flooded, "hello")
    place.until(lambda: len([row for row in place.deliveries() if row[0] == "sending"]) == 8, "stalled sends")
    status = [_timed(place, chat, "/status", "Here: command has been at work") for chat in sleepers]
    _rest()
    stop = [_timed(place, chat, "/stop", "Stopping message") for chat in sleepers]
    assert max(status) < A_SECOND, sorted(status)
    assert max(stop) < A_SECOND, sorted(stop)
    for chat in sleepers:
        place.telegram.say(chat, "after")
    place.until(lambda: place.entries().count("after") == 20, "the messages after /stop")
    place.until(lambda: not _sleepers(place), "the end of what was stopped")
    assert place.telegram.violations() == []
