"""What the owner sees of Telegram beside a running gateway, and what he, and only he, does about it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.channels.scene import Scene
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

_BUSY_AGENT = f"""#!/bin/sh
m=$(cat)
for words in "allow add 99" "allow add --chat -100" "allow remove 99" "allow list" "retries show x1"; do
    {sys.executable} -m push $words 2>&1 && echo "done: $words"
done
true
"""


def told(place: Scene, *words: str, code: int = 0) -> Any:
    """What a command prints as JSON; it ends with `code`."""
    process = place.run(*words, "--json")
    assert process.wait() == code, process.err
    return json.loads(process.out)


def findings(place: Scene) -> list[str]:
    """What `push doctor` finds of Telegram."""
    process = place.run("doctor", "--json")
    process.wait()  # it fails in any case: the scene's configuration is not private
    return [item["message"] for item in json.loads(process.out)["items"] if item["check"] == "telegram"]


def test_a_channel_that_is_read_says_so_until_the_gateway_stops(place: Scene) -> None:
    gateway = place.serve()
    place.until(lambda: told(place, "status")["channels"], "a channel")
    place.until(lambda: told(place, "status")["channels"][0]["good_at"], "a good poll")
    [channel] = told(place, "status")["channels"]
    assert (channel["name"], channel["deaf_since"]) == ("telegram", None)
    assert channel["note"].startswith("reading as @")
    assert "last good poll: " in place.status()
    assert len(findings(place)) == 1
    gateway.stop()
    assert told(place, "status")["channels"] == []


def test_a_webhook_is_seen_by_status_and_doctor(place: Scene) -> None:
    place.telegram.set_webhook("https://hooks.example.org/secret-path")
    place.serve()
    place.until(lambda: "webhook" in place.status(), "a note about the webhook")
    found = findings(place)
    assert any("hooks.example.org" in message for message in found)
    assert "secret-path" not in "".join(found) + place.status()


def test_an_agent_lets_nobody_in_and_sees_nothing_of_strangers(place: Scene) -> None:
    place.play(_BUSY_AGENT)
    place.serve()
    place.telegram.say(7, "let 99 in")
    (answer,) = place.until_answered(7)
    assert answer.count("an agent's run cannot") == 5
    assert "done:" not in answer
    assert place.query("SELECT count(*) FROM allowed") == [(0,)]
    assert place.audit("allowlist_changed") == []


def test_one_that_was_let_in_is_seen_by_an_owner_with_an_empty_configuration(place: Scene) -> None:
    place.config.write_text(place.config.read_text().replace(f"allow_user_ids = {list(range(7, 37))}", ""))
    assert "allow_user_ids" not in place.config.read_text()
    gateway = place.serve()
    place.until(lambda: "nobody may write to the bot yet" in gateway.err, "a warning")
    place.telegram.say(7, "hello")
    place.until(lambda: told(place, "allow")["refusals"], "a refusal")
    [refusal] = told(place, "allow")["refusals"]
    assert refusal["hint"] == "push allow add 7"
    place.done(*refusal["hint"].split()[1:])
    place.telegram.say(7, "now?")
    assert place.until_answered(7) == ["re: now?"]
    assert len(place.audit("allowlist_changed")) == 1
    check(place)


def test_a_dead_letter_is_sent_again_at_once_when_a_person_wants(place: Scene) -> None:
    place.serve()
    place.telegram.fail("sendMessage", 403, "Forbidden: bot was blocked by the user", chat=7)
    place.telegram.say(7, "hello")
    place.until(lambda: told(place, "retries", "list")["items"], "a dead letter")
    [item] = told(place, "retries", "list")["items"]
    assert (item["id"], item["state"], item["reason"], item["attempt"], item["max_attempts"]) == (
        "d1", "failed", "bot_blocked", 1, 3,
    )  # fmt: skip
    assert item["hint"].endswith("push retries now d1")
    assert told(place, "retries", "now", "d1")["heard"] is True
    place.until_telegram(lambda: place.answers(7), "an answer", 10)  # not in the thirty seconds of the sweep
    place.until(lambda: told(place, "retries", "list")["items"] == [], "an empty list")
    check(place)


def test_a_paused_chat_is_shown_with_what_waits(place: Scene) -> None:
    place.serve()
    place.telegram.flood("sendMessage", 30, chat=7)
    place.telegram.say(7, "hello")
    place.until(lambda: told(place, "retries", "list")["pauses"], "a pause")
    listed = told(place, "retries", "list")
    assert [(pause["channel"], pause["chat"]) for pause in listed["pauses"]] == [("telegram", "7")]
    assert [(item["id"], item["reason"], item["attempt"]) for item in listed["items"]] == [
        ("d1", "too_many_requests", 0)
    ]
    assert told(place, "retries", "now", "d1")["paused_until"] == listed["pauses"][0]["until"]
    assert "telegram chat 7 is paused" in place.status()
    assert told(place, "status")["deliveries"]["targets"] == [{"channel": "telegram", "target": "7", "open": 1}]
    place.telegram.say(8, "hello")
    assert place.until_answered(8) == ["re: hello"]
    assert place.telegram.violations() == []  # what a person wants does not break the service's rules


def test_a_rebuilt_state_goes_on_where_the_bot_was_read(place: Scene) -> None:
    gateway = place.serve()
    place.telegram.say(7, "one")
    assert place.until_answered(7) == ["re: one"]
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "everything read")
    gateway.stop()
    before = json.loads((place.root / "state.json").read_text())
    (place.root / "state.json").write_text('{"cursors": ')
    assert told(place, "verify", code=1)["items"][0]["code"] == "state_damaged"
    assert "rebuilt from the ledger" in place.done("doctor", "--fix").out
    after = json.loads((place.root / "state.json").read_text())
    assert (after["cursors"], after["cursor_owner"]) == (before["cursors"], before["cursor_owner"])
    assert told(place, "verify")["ok"]
    place.serve()
    place.telegram.say(7, "two")
    assert place.until_answered(7, 2) == ["re: one", "re: two"]
    check(place)


def test_what_a_crash_cut_between_two_commits_is_no_damage_and_a_cursor_ahead_is(place: Scene) -> None:
    gateway = place.serve(seams="state.replaced=kill@1")
    place.telegram.say(7, "one")
    place.until(lambda: not gateway.is_running, "its death")
    assert told(place, "verify")["ok"]
    state = json.loads((place.root / "state.json").read_text())
    state["cursors"]["telegram"] += 1
    (place.root / "state.json").write_text(json.dumps(state))
    assert [item["code"] for item in told(place, "verify", code=1)["items"]] == ["cursor_ahead"]
