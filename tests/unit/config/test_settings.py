"""What follows from the settings: agents, programs, secrets, the embedded default."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from push.config import Settings, load_or_default
from push.config.reference import effective

ROOT = Path(__file__).resolve().parents[3]
Loaded = Callable[[str], Settings]
LOCAL = 'channel = "local"\n'
TOKEN = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"
KEY = "sk-proj-abcdefghijklmnopqrstuvwx"
DSN = "https://0123456789abcdef@sentry.example.org/42"
SECRETS = f'{LOCAL}telegram.bot_token = "{TOKEN}"\nvoice.openai_api_key = "{KEY}"\nsentry.dsn = "{DSN}"\n'

ROUTES = """\
channel = "local"
agent = "claude"
command = ["cat"]

[[routes]]
channel = "telegram"
agent = "codex"

[[routes]]
thread = "telegram:dm:1"
agent = "pi"

[[routes]]
thread = "telegram:dm:1:topic:7"
agent = "command"

[[routes]]
thread = "telegram:dm:1"
agent = "claude"

[[routes]]
thread = "self:me@example.org"
agent = "pi"

[[routes]]
thread = "telegram:dm:2"
channel = "imessage"
agent = "pi"

[[routes]]
thread = "dm:other"
channel = "imessage"
agent = "codex"

[[routes]]
channel = "telegram"
agent = "pi"
"""


@pytest.mark.parametrize(
    ("conversation", "channel", "agent"),
    [
        (
            "telegram:dm:1",
            "telegram",
            "pi",
        ),  # the exact conversation wins over its channel, the first rule over the rest
        ("telegram:dm:1:topic:7", "telegram", "command"),
        ("telegram:dm:1:topic:8", "telegram", "pi"),  # a topic without a rule takes its chat's
        ("telegram:dm:3", "telegram", "codex"),  # the first of two channel rules
        ("telegram:dm:3:topic:8", "telegram", "codex"),
        ("telegram:dm:2", "telegram", "codex"),  # thread and channel must both match
        ("imessage:self:me@example.org", "imessage", "pi"),  # an old key without its channel
        ("imessage:dm:other", "imessage", "codex"),
        ("telegram:self:me@example.org", "telegram", "codex"),
        ("local:self:me@example.org", "local", "claude"),
        ("imessage:dm:+1555", "imessage", "claude"),
        ("local:ann", "local", "claude"),
        ("local:ann:topic:1", "local", "claude"),
    ],
)
def test_routes(loaded: Loaded, conversation: str, channel: str, agent: str) -> None:
    assert loaded(ROUTES).agent_for(conversation, channel) == agent


def test_a_topic_is_telegrams_alone(loaded: Loaded) -> None:
    settings = loaded(f'{LOCAL}[[routes]]\nthread = "local:ann"\nagent = "pi"\n')
    assert settings.agent_for("local:ann", "local") == "pi"
    assert settings.agent_for("local:ann:topic:1", "local") == "claude"


def test_programs(loaded: Loaded) -> None:
    settings = loaded(f'{LOCAL}agent = "command"\ncommand = ["~/bin/echo", "-n", "~"]\n')
    assert settings.bin_for("command") == (str(Path("~/bin/echo").expanduser()), "-n", "~")
    assert settings.bin_for("claude") == ("claude",)
    with pytest.raises(KeyError):
        settings.bin_for("gemini")


def test_the_embedded_default(home: Path) -> None:
    settings = load_or_default()
    assert (settings.path, settings.channels, settings.agent) == (None, ("local",), "")
    assert settings.assistant_root == home / "assistant"
    assert settings.agent_for("local:ann", "local") == ""
    chosen = settings.with_agent("command", ("cat",))
    assert (chosen.agent, chosen.jobs_agent, chosen.bin_for("command")) == ("command", "command", ("cat",))
    assert settings.with_agent("pi").agent_for("local:ann", "local") == "pi"


def test_the_default_file_wins_over_the_embedded_default(home: Path) -> None:
    (home / "config.toml").write_text(f'{LOCAL}agent = "pi"\n')
    assert load_or_default().agent == "pi"


def test_addresses_end_without_a_slash(loaded: Loaded) -> None:
    settings = loaded(f'{LOCAL}telegram.base_url = " http://127.0.0.1:8081/ "\nvoice.base_url = "https://h/v1/"\n')
    assert settings.telegram.base_url == "http://127.0.0.1:8081"
    assert settings.telegram.base_file_url == "http://127.0.0.1:8081/file"
    assert settings.voice.base_url == "https://h/v1"


def test_frozen(loaded: Loaded) -> None:
    with pytest.raises(FrozenInstanceError):
        loaded(LOCAL).agent = "pi"  # type: ignore[misc]


def test_the_terminal_alone_needs_no_lists(loaded: Loaded) -> None:
    assert loaded(LOCAL).channels == ("local",)
    assert loaded('channels = ["local"]\n').channels == ("local",)


def test_telegram_token_inline_wins_over_the_environment(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    other = TOKEN.replace("123456789", "987654321")
    monkeypatch.setenv("MY_BOT", f" {other}\n")
    named = f'{LOCAL}telegram.bot_token_env = "MY_BOT"\n'
    assert secret(loaded(named).telegram.bot_token) == other
    assert secret(loaded(f'{named}telegram.bot_token = "  {TOKEN} "\n').telegram.bot_token) == TOKEN
    monkeypatch.delenv("MY_BOT")
    assert loaded(named).telegram.bot_token is None


def test_openai_key_of_the_environment_wins(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    inline = f'{LOCAL}voice.openai_api_key = "{KEY}"\n'
    assert secret(loaded(inline).voice.openai_api_key) == KEY
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    assert secret(loaded(inline).voice.openai_api_key) == "sk-of-the-environment"


def test_sentry_is_off_without_a_dsn(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded(LOCAL).sentry.dsn is None
    monkeypatch.setenv("SENTRY_DSN", "not a dsn")
    assert loaded(LOCAL).sentry.dsn is None
    monkeypatch.setenv("SENTRY_DSN", DSN)
    assert secret(loaded(LOCAL).sentry.dsn) == DSN
    assert secret(loaded(f'{LOCAL}sentry.dsn = "https://k@h/1"\n').sentry.dsn) == "https://k@h/1"


def secret(value: object) -> str:
    assert value is not None
    return str(value.get_secret_value())  # type: ignore[attr-defined]


def test_every_secret_is_known_for_scrubbing(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    other = TOKEN.replace("123456789", "987654321")
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", f"Use this token:\n{other}\nKeep it")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("SENTRY_DSN", "short")
    values = loaded(SECRETS).secret_values()
    assert set(values) >= {TOKEN, KEY, DSN, other, f"Use this token:\n{other}\nKeep it", "sk-of-the-environment"}
    assert "short" not in values
    assert list(values) == sorted(values, key=len, reverse=True)


def test_the_names_of_variables_that_agents_do_not_get(loaded: Loaded) -> None:
    names = loaded(f'{LOCAL}telegram.bot_token_env = "MY_BOT"\nagent_env = ["OPENAI_API_KEY"]\n').secret_env_names()
    assert names == {"MY_BOT", "TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY", "SENTRY_DSN"}


def test_no_representation_holds_a_secret(loaded: Loaded) -> None:
    settings = loaded(SECRETS)
    shown = [repr(settings), str(settings), repr(settings.telegram), f"{settings.voice} {settings.sentry}"]
    shown += [item.shown() for item in effective(settings)]
    shown.append(json.dumps([item.value for item in effective(settings)]))
    for text in shown:
        for part in (TOKEN[10:], KEY[8:], DSN[8:20]):
            assert part not in text
    shown_token = next(item for item in effective(settings) if item.key == "telegram.bot_token")
    assert (shown_token.value, shown_token.source) == ("(hidden)", "file")


def test_no_plugin_of_pydantic_sees_the_values() -> None:
    code = "import sys, push.config; print('importlib.metadata' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout == "False\n"
