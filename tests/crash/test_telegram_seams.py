"""kill -9 of a gateway whose channel is Telegram: where it stores what it read, and where it records a send."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.channels.scene import LATE, MISSED, REPEAT, Scene, scene
from tests.crash.site import AGENT, GATED_AGENT
from tests.crash.verdict import check
from tests.telegram.remote import separate

pytestmark = pytest.mark.crash

SEAMS = (
    "intake.edited",
    "intake.rejected",
    "delivery.ended_committed",
    "delivery.try_again_committed",
    "delivery.hold_committed",
    "control.carried_out",
    "progress.removed",
)
ANN, BOB = 7, 8


@contextmanager
def _place(home: Path, agent: str = AGENT, more: str = "") -> Iterator[Scene]:
    with separate() as telegram, scene(home, telegram, agent=agent, more=more) as made:
        yield made


@pytest.fixture
def place(home: Path) -> Iterator[Scene]:
    """The agent that answers at once."""
    with _place(home) as made:
        yield made


@pytest.fixture
def gated(home: Path) -> Iterator[Scene]:
    """The agent that answers when it may."""
    with _place(home, GATED_AGENT) as made:
        yield made


def _killed(place: Scene, seam: str) -> None:
    """A gateway that dies at the seam; what brings it there was said to the service already."""
    gateway = place.serve(seams=seam if "=" in seam else f"{seam}=kill")
    assert gateway.wait() == -signal.SIGKILL


def _texts(place: Scene, chat: int = ANN) -> list[str]:
    return [text.replace("\n\n", "\n") for text in place.answers(chat)]


# -- what was read ---------------------------------------------------------------------------------------------------


def test_killed_when_it_had_stored_an_edit(gated: Scene) -> None:
    """It is served again, and changes nothing any more: one older text is kept, not two."""
    gateway = gated.serve()
    gated.telegram.say(ANN, "one")
    gated.until(gated.entries, "an agent at work")
    message = gated.telegram.say(ANN, "two")["message"]["message_id"]
    gated.until_states("running", "queued")
    gateway.kill()
    gated.telegram.say(ANN, "three", edit=message)
    _killed(gated, "intake.edited")
    assert [row.text for row in gated.turns()] == ["one", "three"]
    gated.serve()
    gated.gate.touch()
    gated.until_states("answered", "answered")
    assert gated.entries() == ["one", "three"]
    assert gated.query("SELECT turn_id, text FROM revision") == [(2, "two")]
    gated.until_deliveries("delivered", "delivered")
    check(gated)


def test_killed_when_it_had_put_aside_what_it_cannot_store(place: Scene) -> None:
    place.telegram.say(ANN, "x" * (4 * 1024 * 1024 + 1))
    place.telegram.say(ANN, "hello")
    _killed(place, "intake.rejected")
    assert place.query("SELECT reason FROM rejected") == [("message_too_long",)]
    place.serve()
    assert place.until_answered(ANN) == ["re: hello"]
    assert place.query("SELECT count(*) FROM rejected") == [(1,)]
    assert place.telegram.unconfirmed() == []
    place.until_deliveries("delivered")
    check(place)


@pytest.mark.parametrize("seam", ["intake.before_commit", "intake.committed"])
def test_killed_around_the_commit_of_a_message(place: Scene, seam: str) -> None:
    place.telegram.say(ANN, "one")
    place.telegram.say(ANN, "two")
    gateway = place.serve(seams=f"{seam}=kill@2")
    assert gateway.wait() == -signal.SIGKILL
    place.serve()
    assert place.until_answered(ANN, 2) == ["re: one", "re: two"]
    assert place.entries() == ["one", "two"]
    place.until_deliveries("delivered", "delivered")
    check(place)


@pytest.mark.parametrize("seam", ["state.before_replace", "state.replaced"])
def test_killed_around_the_move_of_the_cursor(place: Scene, seam: str) -> None:
    place.telegram.say(ANN, "one")
    _killed(place, seam)
    place.serve()
    assert place.until_answered(ANN) == ["re: one"]
    place.telegram.say(ANN, "two")
    assert place.until_answered(ANN, 2) == ["re: one", "re: two"]
    assert place.entries() == ["one", "two"]
    place.until_deliveries("delivered", "delivered")
    check(place)


def test_killed_between_the_pieces_of_a_split_text(place: Scene) -> None:
    """The lead is held for a moment; the next gateway puts the rest to it, or runs it alone. Nothing is lost."""
    whole = "x" * 4096 + "y" * 10
    place.telegram.say(ANN, whole[:4096])
    place.telegram.say(ANN, whole[4096:])
    gateway = place.serve(seams="intake.committed=kill@2")
    assert gateway.wait() == -signal.SIGKILL
    assert place.states() == ["queued", "merged"]
    place.serve()
    place.until_states("answered", "merged")
    assert place.entries() == [whole]
    place.until_deliveries("delivered")
    check(place)


# -- what was sent ---------------------------------------------------------------------------------------------------


def test_killed_when_a_send_was_refused_for_good(place: Scene) -> None:
    """It is not tried again; it is listed, and told with the next answer."""
    place.telegram.fail("sendMessage", 403, "Forbidden: bot was blocked by the user", chat=ANN)
    place.telegram.say(ANN, "one")
    _killed(place, "delivery.ended_committed")
    place.serve()
    place.telegram.say(ANN, "two")
    place.until_deliveries("failed", "delivered")
    (text,) = _texts(place)
    assert text.startswith(MISSED)
    assert text.endswith("re: two")
    assert "bot_blocked" in place.listed()
    place.done("retries", "now", "d1")
    place.until_deliveries("delivered", "delivered")
    assert _texts(place)[1].startswith(LATE)
    check(place)


def test_killed_when_a_send_was_refused_but_perhaps_not_for_good(place: Scene) -> None:
    """What counts is what was recorded: three tries in all, over however many processes."""
    place.telegram.fail("sendMessage", 400, "Bad Request: something odd", chat=ANN, times=3)
    place.telegram.say(ANN, "one")
    for attempt in (1, 2):
        _killed(place, "delivery.try_again_committed")
        assert [(row[0], row[2]) for row in place.deliveries()] == [("waiting", attempt)]
        place.change("UPDATE outbound SET not_before = 1")
    place.serve()
    place.until_deliveries("failed")
    assert [row[2] for row in place.deliveries()] == [3]
    assert len(place.telegram.requests("sendMessage")) == 3
    place.done("retries", "drop", "d1")
    check(place)


def test_killed_when_the_service_asked_to_wait(place: Scene) -> None:
    """The pause is kept: the next process does not ask earlier."""
    place.telegram.flood("sendMessage", retry_after=3, chat=ANN)
    place.telegram.say(ANN, "one")
    _killed(place, "delivery.not_sent_committed")
    place.serve()
    place.telegram.say(BOB, "two")
    assert place.until_answered(BOB) == ["re: two"]
    assert place.until_answered(ANN) == ["re: one"]
    place.until_deliveries("delivered", "delivered")
    assert place.telegram.violations() == []
    assert [row[2] for row in place.deliveries()] == [1, 1], "what was not sent is no attempt"
    check(place)


def test_killed_when_it_had_marked_what_may_have_arrived(place: Scene) -> None:
    place.telegram.disturb("sendMessage", "lose", chat=ANN)
    place.telegram.say(ANN, "one")
    _killed(place, "delivery.unknown_committed")
    assert [(row[0], row[3]) for row in place.deliveries()] == [("waiting", 1)]
    place.serve()
    place.until_deliveries("delivered")
    assert _texts(place) == ["re: one", f"{REPEAT}\nre: one"]
    check(place)


def test_killed_when_it_held_what_may_have_arrived(place: Scene) -> None:
    place.configure('[delivery]\non_unknown = "hold"')
    place.telegram.disturb("sendMessage", "lose", chat=ANN)
    place.telegram.say(ANN, "one")
    _killed(place, "delivery.hold_committed")
    place.serve()
    place.telegram.say(ANN, "two")
    place.until_deliveries("unknown", "delivered")
    assert _texts(place)[0] == "re: one"
    assert _texts(place)[1].endswith("re: two")
    place.done("retries", "drop", "d1")
    check(place)


@pytest.mark.parametrize(
    "seam",
    [
        "delivery.sending_committed",
        "delivery.part_sent",
        "delivery.part_received",
        "delivery.part_received=kill@2",
        "delivery.delivered_committed",
    ],
)
def test_killed_between_the_parts_of_a_long_answer(home: Path, seam: str) -> None:
    """What arrived is not sent again; only the part that may have left is marked; the rest follows."""
    agent = '#!/bin/sh\nm=$(cat)\necho "$m" >> "$DIARY"\nhead -c 9000 /dev/zero | tr \'\\0\' x\n'
    with _place(home, agent) as place:
        place.telegram.say(ANN, "one")
        _killed(place, seam)
        place.serve()
        place.until_deliveries("delivered")
        texts = _texts(place)
        plain = [text for text in texts if not text.startswith(REPEAT)]
        assert "".join(plain).count("x") == 9000
        assert len(texts) - len(plain) == (seam == "delivery.part_sent")
        assert place.entries() == ["one"]
        assert place.telegram.violations() == []
        check(place)


# -- commands and signs ----------------------------------------------------------------------------------------------


def test_killed_when_a_command_was_carried_out_and_not_answered_yet(gated: Scene) -> None:
    gateway = gated.serve()
    gated.telegram.say(ANN, "one")
    gated.until(gated.entries, "an agent at work")
    gateway.kill()
    gated.telegram.say(ANN, "/stop")
    _killed(gated, "control.carried_out")
    gated.serve()
    gated.until_states("cancelled", "answered")
    gated.until_deliveries("delivered")
    assert len(gated.answers(ANN)) == 1
    check(gated)


@pytest.mark.slow
def test_killed_when_the_message_about_a_run_was_removed(home: Path) -> None:
    with _place(home, GATED_AGENT, 'progress = "message"') as place:
        gateway = place.serve(seams="progress.removed=kill")
        place.telegram.say(ANN, "one")
        place.until(lambda: place.query("SELECT * FROM progress"), "the message about the run", 40)
        place.gate.touch()
        assert gateway.wait(40) == -signal.SIGKILL
        place.serve()
        place.until_deliveries("delivered")
        left = [sent.text for sent in place.telegram.sent(ANN) if not sent.deleted and REPEAT not in sent.text]
        assert left in (["re: one"], [])  # its first send may have been under way
        assert place.query("SELECT * FROM progress") == []
        check(place)
