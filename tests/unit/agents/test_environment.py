"""What an agent's environment holds."""

from __future__ import annotations

from push.agents.environment import agent_environment

TOKEN = "123456:AAbbCCdd-eeFFggHHiiJJkk"
BASE = {
    "PATH": "/usr/bin",
    "HOME": "/home/ann",
    "PUSH_HOME": "/home/ann/.push",
    "PUSH_SEAMS": "x=kill",
    "PUSH_RUN": "/somewhere/t1-1",
    "TELEGRAM_BOT_TOKEN": TOKEN,
    "MY_BOT": TOKEN,
    "CURL_ARGS": f"https://api.telegram.org/bot{TOKEN}/getMe",
    "OPENAI_API_KEY": "sk-one",
    "ANTHROPIC_API_KEY": "sk-two",
    "DEBUG": "short1",
    "MENTIONS": "a short1 b",
    "EMPTY": "",
}
NAMES = {"TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY", "SENTRY_DSN"}


def test_c61_pushs_secrets_stay_out_by_name_and_by_value() -> None:
    env = agent_environment(BASE, NAMES, (TOKEN, "short1", ""), ())
    assert env == {
        "PATH": "/usr/bin",
        "HOME": "/home/ann",
        "PUSH_HOME": "/home/ann/.push",
        "ANTHROPIC_API_KEY": "sk-two",
        "MENTIONS": "a short1 b",
        "EMPTY": "",
    }


def test_names_that_the_owner_lists_are_passed_on_purpose() -> None:
    env = agent_environment(BASE, NAMES, (TOKEN,), ("OPENAI_API_KEY", "MY_BOT", "PUSH_SEAMS", "NOT_SET"))
    assert {"OPENAI_API_KEY": "sk-one", "MY_BOT": TOKEN}.items() <= env.items()
    assert not {"TELEGRAM_BOT_TOKEN", "CURL_ARGS", "PUSH_SEAMS", "PUSH_RUN", "NOT_SET"} & env.keys()


def test_c61_no_agent_learns_where_the_secrets_are() -> None:
    places = {"PUSH_SECRETS_FD": "3", "CREDENTIALS_DIRECTORY": "/run/user/1000/credentials/push.service"}
    assert agent_environment(BASE | places, NAMES, (), tuple(places)).keys() & places.keys() == set()
