"""kill -9 of a terminal where it commits what was typed, and where it prints."""

from __future__ import annotations

import signal

import pytest

from tests.crash.site import Process, Site
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

SEAMS = (
    "intake.before_commit",
    "intake.committed",
    "delivery.sending_committed",
    "delivery.part_sent",
    "delivery.part_received",
    "delivery.delivered_committed",
    "delivery.unknown_committed",
    "delivery.not_sent_committed",
)

_REPEAT = "Possibly a repeat"
_EARLIER = "An earlier answer"


def _killed(terminal: Process) -> Process:
    assert terminal.wait() == -signal.SIGKILL
    return terminal


def test_killed_before_the_commit_nothing_was_accepted(place: Site) -> None:
    place.serve()
    assert _killed(place.chat("ann", "one", seams="intake.before_commit=kill")).out == ""
    assert place.turns() == []
    assert place.chat("ann", "one").wait() == 0
    assert place.entries() == ["one"]
    check(place)


def test_killed_before_the_bell_the_next_message_brings_both(place: Site) -> None:
    place.serve()
    _killed(place.chat("ann", "one", seams="intake.committed=kill"))
    assert place.states() == ["queued"]
    terminal = place.chat("ann", "two")
    assert terminal.wait() == 0
    assert terminal.out == "re: one\nre: two\n"
    assert terminal.err.count(_EARLIER) == 1
    check(place)


def test_killed_before_the_bell_the_sweep_of_the_next_start_finds_it(place: Site) -> None:
    _killed(place.chat("ann", "one", "two", seams="intake.committed=kill@2"))
    place.serve()
    place.until_states("answered", "answered")
    assert place.listen("ann").out == "re: one\nre: two\n"
    check(place)


def test_killed_while_printing_the_next_terminal_prints_it_as_a_possible_repeat(place: Site) -> None:
    place.serve()
    assert _killed(place.chat("ann", "one", seams="delivery.part_sent=kill")).out == "re: one\n"
    terminal = place.listen("ann")
    assert terminal.out == "re: one\n"
    assert _REPEAT in terminal.err
    again = place.listen("ann")
    assert (again.out, again.err) == ("", "")
    assert [row.repeat for row in place.turns()] == [1]
    check(place)


@pytest.mark.parametrize(
    ("seam", "printed"),
    [("delivery.sending_committed", ""), ("delivery.part_received", "re: one\n")],
)
def test_killed_around_the_printing_nothing_is_in_doubt(place: Site, seam: str, printed: str) -> None:
    place.serve()
    first = _killed(place.chat("ann", "one", seams=f"{seam}=kill"))
    assert first.out == printed
    terminal = place.listen("ann")
    assert first.out + terminal.out == "re: one\n"
    assert _REPEAT not in terminal.err
    assert [(row.outbound, row.repeat) for row in place.turns()] == [("delivered", 0)]
    check(place)


def test_killed_after_the_receipt_it_is_printed_no_more(place: Site) -> None:
    place.serve()
    assert _killed(place.chat("ann", "one", seams="delivery.delivered_committed=kill")).out == "re: one\n"
    again = place.listen("ann")
    assert (again.out, again.err) == ("", "")
    assert [row.repeat for row in place.turns()] == [0]
    check(place)


def test_killed_when_it_had_marked_the_repeat(place: Site) -> None:
    place.serve()
    _killed(place.chat("ann", "one", seams="delivery.part_sent=kill"))
    _killed(place.start("chat", "--user", "ann", seams="delivery.unknown_committed=kill"))
    assert [(row.outbound, row.repeat) for row in place.turns()] == [("waiting", 1)]
    terminal = place.listen("ann")
    assert terminal.out == "re: one\n"
    assert _REPEAT in terminal.err
    check(place)


def test_killed_twice_while_printing_it_is_kept_and_not_printed_a_third_time(place: Site) -> None:
    place.serve()
    _killed(place.chat("ann", "one", seams="delivery.part_sent=kill"))
    _killed(place.start("chat", "--user", "ann", seams="delivery.part_sent=kill"))
    assert place.listen("ann").out == ""
    assert [(row.outbound, row.repeat) for row in place.turns()] == [("unknown", 1)]
    terminal = place.chat("ann", "two")
    assert terminal.wait() == 0
    assert terminal.out == "re: two\n", "an unknown outcome must not hold those behind it"
    check(place)


def test_killed_when_nobody_read_the_next_terminal_prints_it_as_new(place: Site) -> None:
    place.serve()
    place.say("ann", "one")
    place.until_states("answered")
    terminal = place.closed_chat("ann", seams="delivery.not_sent_committed=kill")
    assert terminal.wait() == -signal.SIGKILL
    assert [row.outbound for row in place.turns()] == ["waiting"]
    again = place.listen("ann")
    assert again.out == "re: one\n"
    assert _REPEAT not in again.err
    check(place)


@pytest.mark.parametrize("seam", ["turn.running_committed", "turn.runner_started", "turn.answer_committed"])
def test_killed_while_it_answers_by_itself_the_next_terminal_goes_on(place: Site, seam: str) -> None:
    _killed(place.chat("ann", "one", "two", seams=f"{seam}=kill"))
    place.until(lambda: not place.runners(), "the end of a runner")
    terminal = place.chat("ann", "three")
    assert terminal.wait() == 0, terminal.err
    said = [row.text for row in place.turns()]
    assert said[-1] == "three", "how far the first terminal came is a matter of moments"
    assert terminal.out == "".join(f"re: {text}\n" for text in said)
    assert place.entries() == said
    check(place)
