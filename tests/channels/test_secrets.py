"""The bot's token stands in the owner's file and in requests to Telegram, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.channels.scene import Scene
from tests.telegram.world import TOKEN

pytestmark = pytest.mark.crash

_SECRET = TOKEN.partition(":")[2]
_BOTFATHER = f"""Done! Congratulations on your new bot.
Use this token to access the HTTP API:
{TOKEN}
Keep your token secure."""

#: Answers with everything that it finds in its environment.
_TELLTALE = """#!/bin/sh
cat >/dev/null
env | sort
"""


def _leaks(place: Scene, secret: str = _SECRET) -> list[str]:
    """Every file of the home, and everything that a process printed, that holds the secret."""
    folders = (place.root, place.outside)
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and file != place.config]
    found = [str(file) for file in files if secret.encode() in file.read_bytes()]
    return found + [f"sent to {sent.chat}" for sent in place.telegram.sent() if secret in sent.text]


def _looked_at(place: Scene) -> None:
    for words in (("status",), ("status", "--json"), ("config", "show"), ("doctor",), ("retries", "list"), ("verify",)):
        place.run(*words)


def test_c60_the_token_is_in_no_log_ledger_audit_or_error(place: Scene) -> None:
    place.telegram.disturb("getUpdates", "close")
    place.telegram.answer("getUpdates", 502, "<html>Bad Gateway</html>")
    place.telegram.disturb("sendMessage", "lose", chat=7)
    place.telegram.say(7, f"my bot's token is {TOKEN}, keep it")  # the person's own words are kept as they are
    gateway = place.start("run", env={"PUSH_DEBUG": "1"})
    place.until_answered(7, 2)
    place.until_deliveries("delivered")
    place.telegram.refuse_connections()
    place.until(lambda: "connection refused" in place.status(), "a refused connection in the status")
    place.telegram.fail("*", 401, "Unauthorized", times=None)
    place.telegram.accept_connections()
    place.until(lambda: "closed: " in place.status(), "a refused token in the status")
    _looked_at(place)
    assert gateway.stop() == 0
    known = [leak for leak in _leaks(place) if Path(leak).name not in {"push.db", "push.db-wal", "diary"}]
    assert [leak for leak in known if not leak.startswith("sent to 7")] == []


def test_c60_a_wrong_token_ends_the_start_without_showing_it(place: Scene) -> None:
    place.telegram.fail("getMe", 401, "Unauthorized", times=None)
    process = place.start("run", env={"PUSH_DEBUG": "1"})
    assert process.wait() == 3
    assert "token" in process.err
    _looked_at(place)
    assert _leaks(place) == []


def test_c60_a_pasted_text_around_the_token_is_refused_without_showing_it(place: Scene) -> None:
    place.configure(token=_BOTFATHER.replace("\n", "\\n"))
    for words in (("run",), ("poll", "--once"), ("config", "validate"), ("config", "show")):
        process = place.start(*words, env={"PUSH_DEBUG": "1"})
        if words != ("config", "show"):
            assert process.wait() == 3
        process.wait()
    assert _leaks(place) == []
    assert place.telegram.requests() == []


def test_c61_an_agent_that_tells_its_environment_tells_no_secret(place: Scene) -> None:
    place.play(_TELLTALE)
    key = "sk-a-key-of-the-voice-service"
    place.config.write_text(place.config.read_text().replace(f'bot_token = "{TOKEN}"', 'bot_token_env = "MY_BOT"'))
    place.serve(env={"MY_BOT": TOKEN, "TELEGRAM_BOT_TOKEN": TOKEN, "OPENAI_API_KEY": key, "COPY_OF_IT": TOKEN})
    place.telegram.say(7, "tell me everything")
    place.until_deliveries("delivered")
    told = "\n".join(place.answers(7))
    assert f"PUSH_HOME={os.fspath(place.root)}" in told or "DIARY=" in told
    for word in (_SECRET, key, "MY_BOT", "TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY"):
        assert word not in told
    assert _leaks(place) == []
    assert _leaks(place, key) == []
