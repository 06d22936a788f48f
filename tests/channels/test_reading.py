"""How far was read: never past what is not stored, never by another bot's cursor, and past what can never be stored."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.channels.scene import Scene
from tests.crash.verdict import check

pytestmark = pytest.mark.crash


def _offsets(place: Scene) -> list[int | None]:
    return [request.parameters.get("offset") for request in place.telegram.requests("getUpdates")]


def test_c3_a_full_disk_lets_the_next_poll_ask_again(place: Scene) -> None:
    gateway = place.serve(seams="intake.before_commit=raise:ENOSPC")
    place.telegram.say(7, "hello")
    place.until_telegram(lambda: len(_offsets(place)) >= 2, "another poll")
    assert set(_offsets(place)) == {None}
    assert len(place.telegram.unconfirmed()) == 1
    assert "No space left on device" in place.status()
    assert place.turns() == []
    gateway.stop()

    place.serve()
    assert place.until_answered(7) == ["re: hello"]
    check(place)


@pytest.mark.slow
def test_c3_a_locked_database_lets_the_next_poll_ask_again(place: Scene) -> None:
    place.serve()
    place.telegram.say(7, "one")
    place.until_deliveries("delivered")
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "the first one confirmed")
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        update = place.telegram.say(7, "two")
        place.until(lambda: "cannot use" in place.status(), "an error in the status", 25)
        assert [one["update_id"] for one in place.telegram.unconfirmed()] == [update["update_id"]]
    place.until_states("answered", "answered")
    place.until_deliveries("delivered", "delivered")
    assert place.answers(7) == ["re: one", "re: two"]
    assert set(_offsets(place)) <= {None, update["update_id"], update["update_id"] + 1}
    place.until(lambda: "cannot use" not in place.status(), "a good status")
    check(place)


@pytest.mark.parametrize("owner", ["42", None])
def test_c4_a_cursor_of_another_bot_or_of_nobody_is_not_used(place: Scene, owner: str | None) -> None:
    state: dict[str, object] = {"cursors": {"telegram": 999_999_999}, "sessions": {}}
    if owner is not None:
        state["cursor_owner"] = {"telegram": owner}
    (place.root / "state.json").write_text(json.dumps(state))
    place.serve()
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "the message confirmed")
    assert _offsets(place)[0] is None
    check(place)


def test_c4_a_cursor_of_another_bot_in_the_ledger_is_not_used(place: Scene) -> None:
    gateway = place.serve()
    place.telegram.say(7, "one")
    place.until_answered(7)
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "the message confirmed")
    assert gateway.stop() == 0
    place.change("UPDATE cursor SET owner = '42', position = 999999999")
    state = json.loads((place.root / "state.json").read_text())
    state |= {"cursors": {"telegram": 999_999_999}, "cursor_owner": {"telegram": "42"}}
    (place.root / "state.json").write_text(json.dumps(state))
    before = len(_offsets(place))

    place.serve()
    place.telegram.say(7, "two")
    assert place.until_answered(7, 2) == ["re: one", "re: two"]
    assert _offsets(place)[before] is None


def test_c4_ids_that_start_anew_below_our_own_cursor_are_followed(place: Scene) -> None:
    """After a week without updates the service begins anew with any id."""
    place.serve()
    place.telegram.say(7, "one")
    place.until_answered(7)
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "the message confirmed")
    chat = {"id": 7, "type": "private", "first_name": "Ann"}
    message = {"message_id": 50, "date": 0, "from": {"id": 7, "is_bot": False}, "chat": chat, "text": "two"}
    place.telegram.add_update({"update_id": 1000, "message": message})
    assert place.until_answered(7, 2) == ["re: one", "re: two"]
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "everything confirmed")
    assert _offsets(place)[-1] == 1001
    check(place)


_CHAT = {"id": 7, "type": "private"}
_ODD: tuple[dict[str, Any], ...] = (
    {"brand_new_kind": {"id": 1, "from": {"id": 7}}},
    {"message": "a string"},
    {"message": None},
    {"message": ["a", "list"]},
    {"message": {}},
    {"message": {"message_id": "one", "from": {"id": 7}, "chat": _CHAT, "text": "odd"}},
    {"message": {"message_id": 1, "date": 0, "from": "me", "chat": _CHAT, "text": "odd"}},
    {"message": {"message_id": 1, "date": 0, "from": {"id": 7}, "chat": {"id": 7, "type": "private"}, "text": ["odd"]}},
    {
        "message": {
            "message_id": 1,
            "date": 0,
            "from": {"id": True},
            "chat": {"id": 7, "type": "private"},
            "text": "odd",
        }
    },
    {"callback_query": {"id": "1", "from": {"id": 7}}},
    {"callback_query": {"id": "1", "data": "x"}},
    {"edited_message": {"message_id": 99, "from": {"id": 7}, "chat": _CHAT, "text": "odd"}},
    {"my_chat_member": {}},
    {"poll": {"id": "1"}},
    {},
)


def test_unknown_and_malformed_updates_are_passed(place: Scene) -> None:
    gateway = place.serve()
    for odd in _ODD:
        place.telegram.add_update(dict(odd))
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "everything confirmed")
    assert [row.text for row in place.turns()] == ["hello"]
    assert "Traceback" not in gateway.err
    check(place)


def test_an_update_that_can_never_be_stored_is_kept_listed_and_passed(place: Scene) -> None:
    place.serve()
    place.telegram.say(7, "x" * (4 * 1024 * 1024 + 1))
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "everything confirmed")
    ((channel, reason, size),) = place.query("SELECT channel, reason, length(raw) FROM rejected")
    assert (channel, reason) == ("telegram", "message_too_long")
    assert size > 4 * 1024 * 1024
    assert "message_too_long" in place.listed()
    assert len(place.audit("update_rejected")) == 1
    check(place)


def test_what_comes_while_a_run_is_being_prepared_is_part_of_it(place: Scene) -> None:
    """The prompt is made before the turn counts as begun: an edit, and the rest of a text, may come in between."""
    begin = place.root / "begin"
    place.serve(seams=f"turn.spooled=pause:{begin}")
    long = place.telegram.say(7, "a" * 4096)["message"]
    word = place.telegram.say(8, "old")["message"]
    prompts = (place.root / "spool").glob
    place.until(lambda: len([*prompts("t*/prompt")]) == 2, "two runs that are about to begin")
    place.telegram.say(7, "the rest", date=long["date"])
    place.telegram.say(8, "new", edit=word["message_id"])
    place.until(lambda: len(place.turns()) == 3 and len(place.query("SELECT * FROM revision")) == 1, "what came")
    begin.touch()
    place.until_answered(7, 2)
    assert place.until_answered(8) == ["re: new"]
    assert sorted(place.entries()) == ["a" * 4096 + "the rest", "new"]
    assert place.states() == ["answered", "answered", "merged"]
    check(place)


def test_a_service_that_says_the_same_again_and_again_is_asked_once_a_second(place: Scene) -> None:
    place.serve()
    update = place.telegram.say(7, "hello")
    place.telegram.answer("getUpdates", 200, {"ok": True, "result": [update]}, times=None)
    place.until_telegram(lambda: len(_offsets(place)) >= 6, "some polls")
    polls = [request.monotonic for request in place.telegram.requests("getUpdates")]
    assert polls[5] - polls[2] > 2.0
    place.telegram.clear_faults()
    assert place.until_answered(7) == ["re: hello"]
    assert place.entries() == ["hello"]
    check(place)


def test_a_damaged_state_file_does_not_slow_the_reading_down(place: Scene) -> None:
    gateway = place.serve()
    place.until_telegram(lambda: _offsets(place), "a poll")
    (place.root / "state.json").write_text("{damaged")
    for number in range(1, 6):
        place.telegram.say(7, "/help")
        place.until_telegram(lambda: not place.telegram.unconfirmed(), "the command confirmed", seconds=3.0)
        assert len(place.turns()) == number
    assert "cursor stands in the ledger alone" in gateway.err
    gateway.kill()
    (place.root / "state.json").unlink()
    before = len(_offsets(place))
    place.serve()
    place.until_answered(7, 5)
    assert _offsets(place)[before] == 1 + place.query("SELECT position FROM cursor")[0][0]
    check(place)


def test_a_message_that_was_edited_while_nobody_read_runs_as_it_was_meant_in_the_end(place: Scene) -> None:
    word = place.telegram.say(7, "old")["message"]
    for _ in range(60):
        place.telegram.say(8, "/help")
    place.telegram.say(7, "new", edit=word["message_id"])
    place.serve(seams="intake.committed=sleep:0.005")
    assert place.until_answered(7) == ["re: new"]
    place.until_answered(8)
