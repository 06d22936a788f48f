"""`push init` offers the service where a supervisor answers: a real systemd of the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.systemd import UserManager, user_manager
from tests.setup.desk import Desk

pytestmark = [pytest.mark.crash, pytest.mark.slow]

ANN = 1001


@pytest.fixture
def supervised(place: Desk) -> Iterator[UserManager]:
    with user_manager() as made:
        place.env["XDG_RUNTIME_DIR"] = str(made.runtime)
        yield made


def test_the_service_is_offered_and_answers(place: Desk, supervised: UserManager) -> None:
    screen = place.open("init")
    screen.answer("The bot's token", place.telegram.token)
    place.telegram.say(ANN, f"/start {screen.code()}")
    screen.answer("Is that you?", "y")
    screen.answer("Run it as a service (systemd), from now on? [Y/n]", "")
    screen.until("The service push runs")
    screen.until("The gateway runs.\nWrite to @push_bot in Telegram.")
    assert screen.end() == 0, screen.text
    assert place.telegram.wait_for(lambda: place.telegram.sent(ANN)), "the code's own message is answered"

    again = place.open("init")
    again.until("Service: it runs, under systemd")
    again.until("The gateway runs.")
    assert again.end() == 0

    assert place.run("service", "uninstall").returncode == 0


def test_declined_is_said_with_the_command(place: Desk, supervised: UserManager) -> None:
    screen = place.open("init", "--owner", str(ANN))
    screen.answer("The bot's token", place.telegram.token)
    screen.answer("Run it as a service (systemd), from now on? [Y/n]", "n")
    screen.until("Left out: the service. Later: push service install")
    screen.until("Next: push run")
    assert screen.end() == 0, screen.text
