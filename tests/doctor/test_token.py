"""A wrong token, on a terminal: doctor names it, and the printed command asks for another one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.terminal import Terminal
from tests.doctor.patient import Patient
from tests.telegram.remote import FakeTelegram, separate

OTHER = "8012345678:AAF-x_Q9wErTyUiOpAsDfGhJkLzXcVbNm12"  # of no bot that the fake knows


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with separate() as fake:
        yield fake


@pytest.mark.parametrize(("token", "code"), [(OTHER, "token_refused"), ("", "token_missing")])
def test_the_printed_command_asks_for_the_token(
    patient: Patient, telegram: FakeTelegram, token: str, code: str
) -> None:
    patient.configure(
        *('agent = "command"', 'command = ["agent"]', "[telegram]", "allow_user_ids = [7]"),
        *([f'bot_token = "{token}"'] if token else []),
        f'base_url = "{telegram.url}"',
        channel="telegram",
    )
    found = patient.examine().one(code)
    assert found["hint"] == "push init"
    window = Terminal(patient.env, patient.home)
    try:
        window.enter(found["hint"])
        window.wait_for(lambda seen: "bot's token" in seen or None, "the question for the token")
        window.type(telegram.token)
        window.wait_for(lambda seen: "checks, 0 failed" in seen or None, "doctor's end")
        assert telegram.token not in window.printed
    finally:
        window.close()
    assert patient.examine().of(code) == []
