"""`push init` at a real terminal, from nothing to a bot that answers its owner."""

from __future__ import annotations

from typing import Any

import pytest

from tests.setup.desk import Desk, Screen

pytestmark = pytest.mark.crash

ANN = 1001
STRANGER = 6666
WRONG = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"
_TOKEN = "The bot's token"
_ANSWERS = "#!/bin/sh\ncat >/dev/null\necho 'here I am'\n"


def _connect(place: Desk, screen: Screen) -> None:
    screen.answer(_TOKEN, place.telegram.token)
    screen.until("the bot is @")


def _send(place: Desk, user: int, text: str) -> None:
    place.telegram.say(user, text)


def test_from_nothing_to_an_answer(place: Desk) -> None:
    place.program("claude")
    place.program("codex")
    screen = place.open("init")
    screen.answer("Which agent is to answer?", "cleud")
    screen.answer("One of claude, codex, please.", "")
    screen.until("newbot")
    screen.until(_TOKEN)
    assert not screen.echoes
    screen.type(f"{WRONG}\n")
    screen.until("does not know a bot with this token")
    assert WRONG not in place.config.read_text()
    _connect(place, screen)
    code = screen.code()
    assert screen.echoes
    _send(place, STRANGER, "/start")
    _send(place, STRANGER, f"/start {code[:-1]}x")
    _send(place, ANN, f"/start {code}")
    screen.until(f"Person {ANN}, number {ANN}, has sent it.")
    screen.answer("Is that you? [y/N]", "n")
    again = screen.code()
    assert again != code
    _send(place, STRANGER, f"/start {code}")
    _send(place, ANN, f"/start {again}")
    screen.until(f"Person {ANN}, number {ANN}, has sent it.")
    screen.answer("Is that you?", "y")
    screen.until(f"Who may write: Person {ANN} ({ANN})")
    screen.until("0 failed")
    screen.until("Next: push run")
    screen.until("Then write to @")
    assert screen.end() == 0, screen.text

    text = place.config.read_text()
    assert text.startswith("# mine\n\n")
    assert "\n# where Telegram is\n[telegram]\n" in text
    assert 'agent = "claude"' in text
    assert f'bot_token = "{place.telegram.token}"' in text
    assert place.config.stat().st_mode & 0o777 == 0o600
    for token in (WRONG, place.telegram.token):
        assert token.partition(":")[2] not in place.everything()
    assert place.telegram.sent() == []


def test_what_waited_for_the_bot_is_read_by_the_gateway(place: Desk) -> None:
    """The code's own message too: it is answered with what /start is answered with."""
    place.program("answers", _ANSWERS)
    place.config.write_text(f'command = ["{place.bin}/answers"]\n{place.config.read_text()}')
    _send(place, ANN, "written before")
    screen = place.open("init", "--agent", "command")
    _connect(place, screen)
    _send(place, ANN, f"/start {screen.code()}")
    screen.answer("Is that you?", "yes")
    assert screen.end() == 0, screen.text
    gateway = place.open("run")
    answers = place.telegram.wait_for(lambda: got if len(got := place.telegram.sent(ANN)) >= 2 else [])
    assert {"here I am"} < {sent.text for sent in answers}
    assert any("/help" in sent.text for sent in answers)
    gateway.type("\x03")
    assert gateway.end() == 0


def test_ctrl_c_keeps_what_was_done_and_the_next_goes_on(place: Desk) -> None:
    screen = place.open("init")
    _connect(place, screen)
    screen.code()
    screen.type("\x03")
    screen.until("What was done is kept; `push init` goes on from there.")
    assert screen.end() == 130
    text = place.config.read_text()
    screen = place.open("init")
    screen.until("(as it is)")
    _send(place, ANN, f"/start {screen.code()}")
    screen.answer("Is that you?", "y")
    assert screen.end() == 0, screen.text
    assert _TOKEN not in screen.text
    assert place.config.read_text() == text
    screen = place.open("init")
    screen.until(f"Who may write: Person {ANN} ({ANN})")
    assert screen.end() == 0, screen.text
    assert place.config.read_text() == text


@pytest.mark.parametrize("keys", ["\x03", "\x04"])
def test_leaving_at_the_token_shows_the_keys_again(place: Desk, keys: str) -> None:
    screen = place.open("init")
    screen.until(_TOKEN)
    screen.type(keys)
    assert screen.end() == 130
    assert screen.echoes
    assert 'channel = "local"' in place.config.read_text()


def test_c60_a_whole_message_of_botfather_is_not_taken(place: Desk) -> None:
    message = f"Done! Congratulations.\n\nUse this token to access the HTTP API:\n{WRONG}\nKeep your token secure."
    screen = place.open("init")
    screen.answer(_TOKEN, message)
    screen.until("holds more than the token")
    screen.answer(_TOKEN, "")
    screen.until("Left out: Telegram. Later: push init")
    assert screen.end() == 0, screen.text
    assert WRONG[10:] not in place.everything() + place.config.read_text()


def test_three_wrong_tokens_leave_the_terminal(place: Desk) -> None:
    screen = place.open("init")
    for _ in range(3):
        screen.answer(_TOKEN, WRONG)
    screen.until("Left out: Telegram")
    assert screen.end() == 0, screen.text
    assert 'channel = "local"' in place.config.read_text()


def test_a_configured_token_that_is_refused_is_replaced(place: Desk) -> None:
    """What a start that fails names is literally the repair."""
    place.program("claude")
    place.config.write_text(
        f'channels = ["telegram"] # all\nassistant_root = "{place.folder}/a"\n'
        f'{place.config.read_text()}bot_token = "{WRONG}"\n'
    )
    failed = place.run("run")
    assert failed.returncode == 3
    hint = next(line for line in failed.stderr.splitlines() if line.startswith("next: "))
    assert hint == "next: push init"
    screen = place.open(*hint.split()[2:])
    screen.until("Telegram refuses the bot token that is configured.")
    _connect(place, screen)
    _send(place, ANN, f"/start {screen.code()}")
    screen.answer("Is that you?", "y")
    assert screen.end() == 0, screen.text
    text = place.config.read_text()
    assert 'channels = ["telegram"] # all\n' in text
    assert f'bot_token = "{place.telegram.token}"' in text


def test_c62_only_the_owners_own_message_counts(place: Desk) -> None:
    screen = place.open("init")
    _connect(place, screen)
    code = screen.code()
    start = f"/start {code}"
    say = place.telegram.say
    say(STRANGER, start, chat=-100_123)
    say(STRANGER, start, forward_origin={"type": "hidden_user", "sender_user_name": "x", "date": 1})
    say(STRANGER, start, sender_chat={"id": -100_123, "type": "channel", "title": "C"})
    say(STRANGER, start, date=1)
    say(STRANGER, f"{start} ")
    robot = {"id": STRANGER, "is_bot": True, "first_name": "Robot"}
    chat = {"id": STRANGER, "type": "private"}
    place.telegram.add_update(
        {"message": {"message_id": 9, "date": 4_000_000_000, "text": start, "from": robot, "chat": chat}}
    )
    edited = say(STRANGER, "something")["message"]["message_id"]
    say(STRANGER, start, edit=edited)
    steering: Any = {"id": ANN, "is_bot": False, "first_name": "An\x1b[31mn\u202e", "last_name": "\x07B"}
    say(ANN, start, **{"from": steering})
    screen.until(f"An[31mn B, number {ANN}, has sent it.")
    screen.answer("Is that you?", "y")
    assert screen.end() == 0, screen.text
    assert "\x1b[31mn" not in screen.text
    assert place.telegram.sent() == []
