"""The double that others wrote runs, and talks to bots."""

from __future__ import annotations

from urllib.request import urlopen

from tests.telegram.implementations import foreign_telegram


def test_the_foreign_double_knows_a_bot_and_a_person() -> None:
    with foreign_telegram() as telegram:
        with urlopen(f"{telegram.url}/bot{telegram.token}/getMe", timeout=10) as answer:
            assert answer.status == 200
        telegram.say(7, "hello")
        [update] = telegram.ask(f"/bot{telegram.token}/getUpdates", {})["result"]
        assert update["message"]["text"] == "hello"
        telegram.ask(f"/bot{telegram.token}/sendMessage", {"chat_id": 7, "text": "hi"})
        assert [message["text"] for message in telegram.sent()] == ["hi"]
