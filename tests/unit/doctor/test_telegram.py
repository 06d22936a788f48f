"""`push doctor` for Telegram: what the service, the poller and the allowlist say, with the next command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push import clock
from push.cli.main import main
from push.ledger import allowlist, outbox
from push.ledger.database import Database
from push.paths import Home
from push.state import StateFile
from push.tasks import roles
from tests.ledger import lives, network
from tests.telegram.server import TelegramServer

OTHER = "8012345678:AAF-x_Q9wErTyUiOpAsDfGhJkLzXcVbNm12"  # of no bot that the fake knows


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer() as server:
        yield server


class Patient:
    """A home whose channel is Telegram."""

    def __init__(self, home: Path, telegram: TelegramServer, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._telegram = telegram
        self._capsys = capsys
        (home / "assistant").mkdir(mode=0o700)
        (home / "assistant" / "SOUL.md").write_text("Be kind.")
        self.configure()

    def configure(self, token: str | None = None, people: str = "[7]") -> None:
        """Write the configuration; "" leaves the token out."""
        token = self._telegram.token if token is None else token
        lines = [
            'channel = "telegram"', 'assistant_root = "assistant"', 'agent = "command"', 'command = ["cat"]',
            "[telegram]", f'base_url = "{self._telegram.url}"', f"allow_user_ids = {people}",
            *([f'bot_token = "{token}"'] if token else []),
        ]  # fmt: skip
        (self.home / "config.toml").write_text("\n".join(lines))
        (self.home / "config.toml").chmod(0o600)

    def ask(
        self, check: str = "telegram", code: int | None = None, arguments: tuple[str, ...] = ()
    ) -> list[dict[str, Any]]:
        """The findings of a check; no token in any of what is said."""
        ended = main(["doctor", "--json", *arguments])
        out, err = self._capsys.readouterr()
        assert self._telegram.token not in out + err
        assert OTHER not in out + err
        items: list[dict[str, Any]] = json.loads(out)["items"]
        assert code in {None, ended}, items
        return [item for item in items if item["check"] == check]


@pytest.fixture
def patient(home: Path, telegram: TelegramServer, capsys: pytest.CaptureFixture[str]) -> Patient:
    return Patient(home, telegram, capsys)


def test_a_bot_that_can_be_read_is_named(patient: Patient, telegram: TelegramServer) -> None:
    [item] = patient.ask(code=0)
    bot = telegram.bot
    assert (item["status"], item["message"]) == ("ok", f"{telegram.url} knows the bot as @{bot.username} ({bot.id})")
    assert telegram.requests("deleteWebhook") == telegram.requests("getUpdates") == []  # it changes nothing


@pytest.mark.parametrize(
    ("owner", "said"), [("1", "belongs to the bot 1 and is not used"), ("", "belongs to nobody known"), (None, "")]
)
def test_c4_a_cursor_of_another_bot_is_named_and_does_no_harm(
    patient: Patient, telegram: TelegramServer, owner: str | None, said: str
) -> None:
    file = StateFile(Home.at(patient.home).state)
    file.set_cursor("telegram", 900, owner=str(telegram.bot.id) if owner is None else owner)
    [item] = patient.ask(code=0)
    assert item["status"] == "ok"
    assert said in item["message"]
    assert ("cursor" in item["message"]) is bool(said)


@pytest.mark.parametrize(("minutes", "said"), [(0, ""), (5, "30[01] s ahead of"), (-5, "(299|300) s behind")])
def test_the_clock_is_compared_with_the_service_s(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, minutes: int, said: str
) -> None:
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=minutes))
    found = patient.ask("clock", code=0)
    assert [re.search(said, item["message"]) and item["hint"] for item in found] == (
        ["timedatectl set-ntp true"] if said else []
    )


def test_without_a_token_there_is_nothing_to_ask(patient: Patient, telegram: TelegramServer) -> None:
    patient.configure(token="")
    [item] = patient.ask(code=1)
    assert item["status"] == "failed"
    assert "there is no bot token" in item["message"]
    assert "TELEGRAM_BOT_TOKEN" in item["message"]
    assert item["hint"] == "push init"
    assert telegram.requests("getMe") == []


def test_a_token_of_no_bot_is_told(patient: Patient) -> None:
    patient.configure(token=OTHER)
    [item] = patient.ask(code=1)
    assert "does not know the bot of this token" in item["message"]
    assert item["hint"] == "push init"


def test_offline_the_reason_is_told_and_the_rest_is_checked(patient: Patient, telegram: TelegramServer) -> None:
    telegram.refuse_connections()
    items = patient.ask(code=1)
    assert [item["message"] for item in items] == [
        f"{telegram.url} cannot be reached (connection refused): the network, or telegram.base_url"
    ]
    assert items[0]["hint"] == "push doctor"
    assert patient.ask("ledger") != []


def test_a_service_in_trouble_is_told_by_its_status(patient: Patient, telegram: TelegramServer) -> None:
    telegram.fail("getMe", 502, "Bad Gateway")
    [item] = patient.ask(code=1)
    assert "answers with the error 502" in item["message"]


def test_a_webhook_is_named_by_its_host_alone(patient: Patient, telegram: TelegramServer) -> None:
    telegram.set_webhook("https://hooks.example.org/secret-path-of-another")
    _, item = patient.ask(code=1)
    assert item["status"] == "failed"
    assert "hooks.example.org" in item["message"]
    assert "secret-path" not in json.dumps(item)
    assert item["hint"] == "push doctor --delete-webhook"
    assert telegram.requests("deleteWebhook") == []
    patient.ask(arguments=("--fix",), code=1)
    assert telegram.requests("deleteWebhook") == []  # another program would get no messages any more
    deleted, named = patient.ask(arguments=("--delete-webhook",), code=0)
    assert (deleted["status"], named["status"]) == ("fixed", "ok")
    assert len(patient.ask(code=0)) == 1


@pytest.mark.parametrize(
    ("note", "silence", "said"),
    [
        ("another_poller; asking again in 3 s", 0, "another program reads this bot's messages"),
        ("timeout; asking again in 30 s", 300, "has not been able to read it for 5 min: timeout"),
        ("timeout; asking again in 30 s", 299, ""),
    ],
)
def test_what_the_living_poller_says(patient: Patient, note: str, silence: int, said: str) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        role = roles.take(Home.at(patient.home).run, "poll", "push run")
        role.beat("telegram.good", "last good poll")
        role.beat("telegram", note)
        now.tick(silence)
        items = patient.ask(code=1 if said else 0)
        role.close()
    assert [said in item["message"] for item in items[1:]] == ([True] if said else [])
    assert len(patient.ask(code=0)) == 1  # no poller lives


def test_nobody_allowed_is_a_warning_until_somebody_is(patient: Patient) -> None:
    patient.configure(people="[]")
    _, item = patient.ask(code=0)
    assert (item["status"], item["message"]) == ("warning", "nobody is allowed to write to the bot")
    assert item["hint"] == "push init"
    with closing(Database.open(Home.at(patient.home).push_db)) as db:
        allowlist.add(db, "telegram", "user", "123", None)
    assert len(patient.ask(code=0)) == 1


def test_answers_that_reached_nobody_are_a_warning(patient: Patient) -> None:
    assert patient.ask("deliveries", 0) == []
    with closing(Database.open(Home.at(patient.home).push_db)) as db:
        for state in ("failed", "failed", "unknown"):
            row = lives.answer(db, lives.start(db, lives.accept(db, network.message())))
            outbox.end(db, lives.sending(db, row), state, "bot_blocked")
    assert [(item["status"], item["message"], item["hint"]) for item in patient.ask("deliveries", 0)] == [
        ("warning", "2 answers could not be delivered", "push retries list"),
        ("warning", "1 answer may have arrived, or not", "push retries list"),
    ]
