"""What the service says no to, and what an agent has nothing to say about: visible, listed, and nothing is held up."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.channels.scene import LATE, MISSED, Scene, scene
from tests.crash.site import GATED_AGENT
from tests.crash.verdict import check
from tests.telegram.remote import separate

pytestmark = pytest.mark.crash

GROUP = -1_001_234_567_890


def _counts(place: Scene, attempts: int) -> bool:
    return bool(place.deliveries()) and place.deliveries()[0][2] == attempts


def test_c10_refused_three_times_is_listed_told_and_can_be_sent_again(place: Scene) -> None:
    place.serve()
    place.telegram.fail("sendMessage", 400, "Bad Request: a reason that nobody knows", chat=7, times=None)
    place.telegram.say(7, "lost")
    for attempts in range(1, 3):
        place.until(partial(_counts, place, attempts), f"{attempts} attempts")
        assert place.deliveries()[0][0] == "waiting"
        place.hurry()
    place.until_deliveries("failed")
    assert len(place.telegram.requests("sendMessage")) == 3
    assert "d1" in place.listed()
    assert "1 delivery failed for good" in place.status()

    place.telegram.clear_faults()
    place.telegram.say(7, "hello")
    (told,) = place.until_answered(7)
    assert told.startswith(MISSED)
    assert told.endswith("re: hello")
    place.telegram.say(7, "again")
    assert place.until_answered(7, 2)[1] == "re: again"

    place.done("retries", "now", "d1")
    late = place.until_answered(7, 3)[2]
    assert late.startswith(LATE)
    assert late.endswith("re: lost")
    place.until_deliveries(*["delivered"] * 3)
    assert "d1" not in place.listed()
    assert place.entries() == ["lost", "hello", "again"]
    check(place)


def test_c20_a_deleted_topic_gets_one_retry_without_it(home: Path) -> None:
    with separate("--topics") as telegram, scene(home, telegram, agent=GATED_AGENT) as place:
        place.serve()
        telegram.say(7, "hello", thread=5)
        place.until(place.entries, "an agent at work")
        telegram.set_topic(7, 5, "deleted")
        place.gate.touch()
        assert place.until_answered(7) == ["re: hello"]
        threads = [request.parameters.get("message_thread_id") for request in telegram.requests("sendMessage")]
        assert threads == [5, None]
        assert telegram.sent(7)[0].thread is None
        place.until_deliveries("delivered")
        check(place)


def test_c20_the_general_topic_and_a_thread_of_replies_are_addressed_without_a_thread(place: Scene) -> None:
    place.configure(chats=(GROUP, GROUP - 1))
    place.serve()
    mention = [{"type": "mention", "offset": 0, "length": 9}]
    place.telegram.add_chat(GROUP, forum=True)
    place.telegram.say(7, "@push_bot hello", chat=GROUP, thread=1, entities=mention)
    place.telegram.add_chat(GROUP - 1)
    first = place.telegram.say(8, "no word to the bot", chat=GROUP - 1)["message"]["message_id"]
    place.telegram.say(7, "@push_bot hello", chat=GROUP - 1, reply_to=first, entities=mention)
    for chat in (GROUP, GROUP - 1):
        assert len(place.until_answered(chat)) == 1
    place.until_deliveries("delivered", "delivered")
    assert [request.parameters.get("message_thread_id") for request in place.telegram.requests("sendMessage")] == [
        None,
        None,
    ]
    check(place)


def test_c21_a_blocked_bot_gives_up_at_once_and_serves_the_others(place: Scene) -> None:
    place.play(GATED_AGENT)
    place.serve()
    place.telegram.say(7, "hello")
    place.until(place.entries, "an agent at work")
    place.telegram.close_chat(7)
    place.gate.touch()
    place.until_deliveries("failed")
    assert len(place.telegram.requests("sendMessage")) == 1
    assert "bot_blocked" in place.listed()
    place.telegram.say(8, "hello")
    assert place.until_answered(8) == ["re: hello"]
    place.telegram.open_chat(7)
    place.telegram.say(7, "here again")
    assert place.until_answered(7)[0].startswith(MISSED)


def test_c21_a_migrated_group_is_not_followed_without_the_owner(place: Scene) -> None:
    place.configure(chats=(-500,))
    place.play(GATED_AGENT)
    place.serve()
    place.telegram.say(7, "@push_bot hello", chat=-500, entities=[{"type": "mention", "offset": 0, "length": 9}])
    place.until(place.entries, "an agent at work")
    place.telegram.migrate(-500, GROUP, user=7)
    place.gate.touch()
    place.until_deliveries("failed")
    assert place.telegram.sent() == []
    assert f"chat_migrated:{GROUP}" in place.listed()
    place.telegram.say(8, "hello")
    assert place.until_answered(8) == ["re: hello"]


_SILENT = """#!/bin/sh
m=$(cat)
printf '%s\\n' "$m" >> "$DIARY"
case $m in newline) echo;; blank) printf '  \\n\\t\\n';; zero) printf '\\342\\200\\213\\n';; esac
"""


def test_c26_an_agent_that_says_nothing_is_an_explained_failure(place: Scene) -> None:
    place.play(_SILENT)
    place.serve()
    for person, kind in enumerate(("nothing", "newline", "blank", "zero"), start=7):
        place.telegram.say(person, kind)
    for person in range(7, 11):
        (text,) = place.until_answered(person)
        assert "without saying anything" in text
    place.until_states(*["failed"] * 4)
    assert [row.reason for row in place.turns()] == ["empty_reply"] * 4
    assert len(place.entries()) == 4
    check(place)


def test_an_answer_that_ends_while_its_channel_is_off_is_sent_in_parts_once_it_is_on_again(place: Scene) -> None:
    place.play(GATED_AGENT)
    gateway = place.serve()
    place.telegram.say(7, "word " * 1000)
    place.until_states("running")
    assert gateway.stop() == 0
    config = place.config.read_text()
    place.config.write_text(config.replace('["telegram"]', '["local"]'))
    gateway = place.serve()
    place.gate.touch()
    place.until_states("answered")
    place.until_deliveries("pending")
    assert gateway.stop() == 0
    place.config.write_text(config)
    place.serve()
    place.until_deliveries("delivered")
    check(place)


def test_a_consumer_without_the_token_does_not_start_and_loses_no_answer(place: Scene) -> None:
    place.play(GATED_AGENT)
    gateway = place.serve()
    place.telegram.say(7, "hello")
    place.until_states("running")
    assert gateway.stop() == 0
    config = place.config.read_text()
    place.config.write_text(config.replace(f'bot_token = "{place.telegram.token}"\n', ""))
    place.gate.touch()
    for words in (("consumer",), ("consumer", "--drain"), ("run",)):
        process = place.run(*words)
        assert process.wait() == 3
        assert "there is no bot token" in process.err
    place.until(lambda: not place.runners(), "the end of the run")
    place.config.write_text(config)
    place.serve()
    assert place.until_answered(7) == ["re: hello"]
    check(place)
