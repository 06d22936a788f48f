"""Lost or answered twice: whatever is killed or lost, one run and one answer, or two with the second marked."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.channels.scene import LATE, REPEAT, Scene, marked
from tests.crash.site import GATED_AGENT
from tests.crash.verdict import check

pytestmark = pytest.mark.crash


def _lose_cursor(place: Scene) -> None:
    (place.root / "state.json").unlink(missing_ok=True)
    place.change("DELETE FROM cursor")


def test_c1_an_update_that_is_served_again_after_the_cursor_was_lost_is_run_once(place: Scene) -> None:
    gateway = place.serve(seams="intake.committed=kill")
    place.telegram.say(7, "hello")
    assert gateway.wait() == -signal.SIGKILL
    _lose_cursor(place)

    place.serve()
    assert place.until_answered(7) == ["re: hello"]
    asked = [request.parameters.get("offset") for request in place.telegram.requests("getUpdates")]
    assert asked[1] is None  # nothing known: it is served once more
    assert asked[-1] is not None
    place.telegram.say(7, "and now")
    assert place.until_answered(7, 2) == ["re: hello", "re: and now"]
    assert place.entries() == ["hello", "and now"]
    assert place.query("SELECT count(*) FROM rejected") == [(0,)]
    check(place)


@pytest.mark.parametrize(
    ("seam", "answers"),
    [
        ("turn.runner_ended", ["re: hello"]),
        ("turn.answer_committed", ["re: hello"]),
        ("delivery.sending_committed", ["re: hello"]),
        ("delivery.part_sent", ["re: hello", f"{REPEAT}\nre: hello"]),
        ("delivery.part_received", ["re: hello"]),
    ],
)
def test_c2_killed_between_the_agents_output_and_the_receipt(place: Scene, seam: str, answers: list[str]) -> None:
    gateway = place.serve(seams=f"{seam}=kill")
    place.telegram.say(7, "hello")
    assert gateway.wait() == -signal.SIGKILL

    place.serve()
    place.until_deliveries("delivered")
    assert [text.replace("\n\n", "\n") for text in place.answers(7)] == answers
    assert place.entries() == ["hello"]
    check(place)


def test_c5_stopped_while_the_agent_runs_and_then_no_connection_for_a_while(place: Scene) -> None:
    place.play(GATED_AGENT)
    gateway = place.serve()
    place.telegram.say(7, "hello")
    place.until_states("running")
    place.until(place.entries, "an agent at work")
    assert gateway.stop() == 0
    place.telegram.refuse_connections()
    place.gate.touch()

    place.serve()
    place.until(lambda: place.deliveries()[:1] and place.deliveries()[0][:2] == ("waiting", "connection_refused"), "no")
    assert "connection_refused" in place.listed()
    place.telegram.accept_connections()
    assert place.until_answered(7) == ["re: hello"]
    assert place.entries() == ["hello"]
    place.until_deliveries("delivered")
    check(place)


def test_c6_a_lost_response_is_followed_by_one_marked_repeat(place: Scene) -> None:
    place.serve()
    place.telegram.disturb("sendMessage", "lose", chat=7)
    place.telegram.say(7, "hello")
    texts = place.until_answered(7, 2)
    assert texts[0] == "re: hello"
    assert marked(texts) == [texts[1]]
    assert texts[1].endswith("re: hello")
    place.until_deliveries("delivered")
    assert place.deliveries()[0][3] == 1  # repeat
    sources = place.query("SELECT source, target FROM transition WHERE machine = 'outbound' ORDER BY id")
    assert ("sending", "unknown") in sources
    assert place.entries() == ["hello"]
    check(place)


def test_c6_a_second_lost_response_is_the_last_one_and_listed(place: Scene) -> None:
    place.serve()
    place.telegram.disturb("sendMessage", "lose", chat=7, times=3)
    place.telegram.say(7, "hello")
    place.until_deliveries("unknown")
    assert len(place.answers(7)) == 2
    assert "unknown" in place.listed()
    assert "may have arrived" in place.status()
    place.telegram.clear_faults()
    place.telegram.say(7, "still there?")
    place.until_answered(7, 3)
    place.until_states("answered", "answered")
    assert place.telegram.requests("sendMessage")[-1].parameters["text"].endswith("re: still there?")


def test_c6_with_hold_an_unknown_outcome_is_left_to_a_person(place: Scene) -> None:
    place.configure('[delivery]\non_unknown = "hold"')
    place.serve()
    place.telegram.disturb("sendMessage", "lose", chat=7)
    place.telegram.say(7, "hello")
    place.until_deliveries("unknown")
    assert "d1" in place.listed()
    assert place.answers(7) == ["re: hello"]
    place.done("retries", "now", "d1")
    texts = place.until_answered(7, 2)
    assert marked(texts) == [texts[1]]
    assert LATE not in texts[1]


def test_c7_fifty_delivered_rows_are_not_sent_again_after_a_crash(place: Scene) -> None:
    people = range(7, 32)
    gateway = place.serve()
    for text in ("one", "two"):
        for person in people:
            place.telegram.say(person, text)
    place.until_settled(50, 60)
    place.until_deliveries(*["delivered"] * 50)
    gateway.kill()
    sends = len(place.telegram.requests("sendMessage"))
    assert sends == 50

    gateway = place.serve()
    place.telegram.say(36, "a sign of life")
    assert place.until_answered(36) == ["re: a sign of life"]
    assert gateway.stop() == 0
    assert len(place.telegram.requests("sendMessage")) == sends + 1
    assert place.telegram.violations() == []
    check(place)


def test_c8_five_messages_at_once_are_five_turns_in_order(place: Scene) -> None:
    place.serve()
    said: list[dict[str, Any]] = [place.telegram.say(7, f"number {number}") for number in range(5)]
    assert len(said) == 5
    assert place.until_answered(7, 5) == [f"re: number {number}" for number in range(5)]
    assert place.entries() == [f"number {number}" for number in range(5)]
    assert place.telegram.violations() == []
    check(place)


def test_c11_a_crash_while_the_agent_runs_swallows_nothing(place: Scene) -> None:
    place.play(GATED_AGENT)
    gateway = place.serve()
    place.telegram.say(7, "first")
    place.until(place.entries, "an agent at work")
    gateway.kill()
    place.telegram.say(7, "second")
    place.gate.touch()

    place.serve()
    assert place.until_answered(7, 2) == ["re: first", "re: second"]
    assert place.entries() == ["first", "second"]
    check(place)
