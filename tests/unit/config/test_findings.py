"""What a wrong configuration is told: file, line, key, expected, got, nearest key; never a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from push.config import load
from push.config.findings import InvalidConfig
from push.config.reference import every_key
from push.errors import ConfigError

Refused = Callable[[str], InvalidConfig]
Write = Callable[[str], Path]

TELEGRAM = 'channel = "telegram"\nassistant_root = "assistant"\n[telegram]\n'
LOCAL = 'channel = "local"\n'
TOKEN = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"
BOTFATHER = f"""Done! Congratulations on your new bot. Use this token to access the HTTP API:
{TOKEN}
Keep your token secure and store it safely."""


def said(error: ConfigError) -> str:
    """Everything that a person or a log could see of the error."""
    return "\n".join([error.message, error.why, error.hint, *error.details, str(error), repr(error)])


def test_c65_allow_user_id(refused: Refused, home: Path) -> None:
    error = refused(f"{TELEGRAM}allow_user_id = [123456789]\n")
    assert error.message == f"{home}/config.toml:4: telegram.allow_user_id is not a setting"
    assert error.why.startswith("did you mean telegram.allow_user_ids? expected one of allow_chat_ids, allow_user_ids")
    assert error.hint.endswith(f"push config validate --config {home}/config.toml")
    assert (error.exit_code, error.details) == (3, ())


def test_c65_a_string_id(refused: Refused, home: Path) -> None:
    error = refused(f'{TELEGRAM}allow_user_ids = [\n  1,\n  "987654321",\n]\n')
    assert error.message == f"{home}/config.toml:6: telegram.allow_user_ids, item 2 is a string"
    assert error.why.startswith("expected a number without quotes, never a name: `push allow` shows")
    assert "987654321" not in said(error)


def test_c65_a_tab_where_there_must_be_none(write: Write) -> None:
    path = write(f"{LOCAL}poll\tinterval = 3\n")
    with pytest.raises(ConfigError) as caught:
        load()
    assert caught.value.message.startswith(f"{path}:2:6: ")
    assert caught.value.why == "there is a tab here"
    assert caught.value.exit_code == 3


def test_c65_tabs_as_white_space_are_fine(loaded: Callable[[str], object]) -> None:
    loaded('\tchannel\t=\t"local"\t# here too\n')


def test_c65_overlapping_folders(refused: Refused, home: Path) -> None:
    error = refused(f'{LOCAL}drafts_dir = "{home}/work"\njobs_run_dir = "{home}/work/run"\n')
    assert error.message == f"{home}/config.toml:2: drafts_dir overlaps jobs_run_dir ({home}/work/run)"
    assert error.why == "expected a folder of its own"


def test_c65_everything_in_one_message(refused: Refused, home: Path) -> None:
    error = refused(f'{LOCAL}agnt = "pi"\nturns_workers = "many"\n[voice]\nspeed = 2\n')
    assert error.message == f"{home}/config.toml:2: agnt is not a setting"
    assert error.why == "did you mean agent?"
    speed = "voice.speed is not a setting; expected one of base_url, name, openai_api_key, service, speech_model"
    assert error.details == (
        f"{home}/config.toml:3: turns_workers is a string; expected a whole number without quotes",
        f"{home}/config.toml:5: {speed}, transcribe_model",
    )


def test_c60_the_whole_botfather_text(refused: Refused) -> None:
    error = refused(f'{TELEGRAM}allow_user_ids = [1]\nbot_token = """{BOTFATHER}"""\n')
    size = len(BOTFATHER)
    assert f":5: telegram.bot_token is a string of {size} characters that holds more than the token" in error.message
    assert "digits, a colon, 35 letters" in error.why
    assert TOKEN[10:30] not in said(error)


def test_c60_the_whole_botfather_text_in_the_variable(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", BOTFATHER)
    write(f"{TELEGRAM}allow_user_ids = [1]\n")
    with pytest.raises(ConfigError) as caught:
        load()
    error = caught.value
    assert error.message.startswith(
        f"the variable TELEGRAM_BOT_TOKEN holds a string of {len(BOTFATHER)} characters that holds more than the token"
    )
    assert (error.code, error.exit_code) == ("wrong_token", 3)
    assert TOKEN[10:30] not in said(error)


def test_c60_the_whole_botfather_text_without_quotes(write: Write) -> None:
    write(f"{TELEGRAM}bot_token = {BOTFATHER}\n")
    with pytest.raises(ConfigError) as caught:
        load()
    assert ":4:13: " in caught.value.message
    assert TOKEN[10:30] not in said(caught.value)


@pytest.mark.parametrize("key", ["telegram.bot_token", "voice.openai_api_key", "sentry.dsn"])
@pytest.mark.parametrize("value", ['"sesame street"', '["sesame"]', '{sesame = "sesame"}', '""', '"  "', "123454321"])
def test_a_wrong_secret_is_not_shown(refused: Refused, key: str, value: str) -> None:
    error = refused(f"{LOCAL}{key} = {value}\n")
    assert key in error.message
    assert "sesame" not in said(error)
    assert "123454321" not in said(error)


@pytest.mark.parametrize(
    "key", [f'"{TOKEN}"', f'"{TOKEN[:35]}"', "sk-proj-0123456789abcdefghij", f'telegram."{TOKEN}"']
)
def test_a_secret_in_the_place_of_a_key_is_not_shown(refused: Refused, key: str) -> None:
    error = refused(f"{LOCAL}{key} = 1\n")
    assert re.search(r":2: .*\(a key of \d+ characters\) is not a setting", error.message)
    assert TOKEN[10:30] not in said(error)
    assert "0123456789" not in said(error)


@pytest.mark.parametrize(
    ("line", "message", "why"),
    [
        ('agent = "claud"', "agent is not one of its choices", 'did you mean "claude"? expected "claude", "codex",'),
        ("agent = 2020-01-01", "agent is a date or time", 'expected "claude"'),
        ("run_timeout = 120", "run_timeout is a whole number", 'expected a duration in quotes, as in "90s"'),
        ('run_timeout = "2 minuts"', "run_timeout is a string that is no duration", "expected a duration"),
        ('run_timeout = "0s"', "run_timeout is a duration out of bounds", "expected a duration"),
        ('poll_interval = "1ms"', "poll_interval is a duration out of bounds", "from 100ms to 1d"),
        ("turns_workers = true", "turns_workers is true or false", "expected a whole number"),
        ("turns_workers = 0", "turns_workers is out of bounds", "expected a number of at least 1"),
        ("turns_workers = 1.5", "turns_workers is a decimal number", "expected a whole number"),
        ("command_history = 1", "command_history is a whole number", "expected true or false"),
        ('command = "cat"', "command is a string", "expected a list"),
        ("command = []", "command is out of bounds", "expected a list with at least 1 item"),
        ('command = [" "]', "command, item 1 is a blank string", "expected the name of a program"),
        ('command = ["cat", "a\\u0000b"]', "command, item 2 is a string with a NUL", "expected a string without"),
        ('agent = "command"', "agent is command, and no command is set", 'command = ["prog", "arg"]'),
        ('agent_env = ["A B"]', "agent_env, item 1 is a string that cannot be one", "environment variable"),
        ('claude_bin = ""', "claude_bin is a blank string", "expected a string that is not blank"),
        ('channels = ["local", "local"]', "channels, item 2 names local a second time", "each channel once"),
        ("telegram = 3", "telegram is a whole number", "expected a table"),
        ("[[telegram]]", "telegram is a list", "expected a table"),
        ("[telegramm]", "telegramm is not a setting", "did you mean telegram?"),
        ("allow_user_ids = [1]", "allow_user_ids is not a setting", "did you mean telegram.allow_user_ids?"),
        ("[voice]\nagent = 'pi'", "voice.agent is not a setting", "did you mean agent, which must stand above"),
        ("[reply]\nmode = 'live'", "reply.mode is not a setting", "the table is reserved"),
        ("[routes]\nagent = 'pi'", "routes is a table", "each under its own [[routes]]"),
        ("[[routes]]\nchannel = 'local'", "routes, item 1 has no agent", "expected a key agent"),
        ("[[routes]]\nagent = 'pi'", "routes, item 1 has neither thread nor channel", "expected at least one"),
        (
            "[[routes]]\nagent = 'pi'\nthred = 'x'",
            "routes, item 1, thred is not",
            "did you mean routes, item 1, thread?",
        ),
        ("[primary_delivery]\nchannel = 'local'", "primary_delivery has no target", "expected a key target"),
        ("telegram.base_url = 'ftp://h'", "telegram.base_url is a string that is no such URL", "http or https"),
        ("telegram.base_url = 'http://u:p@h'", "telegram.base_url is a string", "without user name"),
        ("sentry.traces_sample_rate = nan", "sentry.traces_sample_rate is out of bounds", "a number of at"),
        ("voice.name = 'ceder'", "voice.name is no voice of OpenAI", "expected one of alloy"),
        ("delivery.expire_after = '1s'", "delivery.expire_after is a duration out of bounds", "from 1m to 365d"),
    ],
)
def test_wording(refused: Refused, line: str, message: str, why: str) -> None:
    first = line.split("\n", 1)[0]
    error = refused(f"{LOCAL if not first.startswith('channels') else ''}{line}\n")
    assert message in error.message
    assert why in error.why
    assert error.details == ()


def test_an_empty_file_says_what_is_needed(refused: Refused) -> None:
    error = refused("")
    assert "channel is missing, which means iMessage, and nobody is allowed to write" in error.message
    assert "imessage.self_handles" in error.why
    assert "assistant_root is missing" in error.details[0]


def test_a_misspelt_list_is_not_also_an_empty_one(refused: Refused) -> None:
    assert len(refused(f"{TELEGRAM}allow_user_idz = [1]\n").findings) == 1


def test_telegram_needs_nobody_in_the_file(loaded: Callable[[str], object]) -> None:
    """People are let in by `push allow add`; `push doctor` warns where there are none."""
    loaded(TELEGRAM)


def test_a_voice_of_another_service_is_its_own_affair(loaded: Callable[[str], object]) -> None:
    loaded(f'{LOCAL}voice.name = "af_bella"\nvoice.base_url = "http://127.0.0.1:8880/v1/"\n')


TABLES: dict[str, set[str]] = {}
for _key, _ in every_key():
    TABLES.setdefault(_key.rpartition(".")[0], set()).add(_key.rpartition(".")[2])
TABLES[""] |= {*TABLES, "retention", "reply", "vault", "assistant_dir", "jobs_dir"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_unknown_key_is_named_with_its_line_wherever_it_is(home: Path, data: st.DataObject) -> None:
    """At the top, in a table, in a route, in an inline table, dotted; with noise around it."""
    table = data.draw(st.sampled_from(sorted(TABLES)))
    name = data.draw(st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True))
    noise = data.draw(st.lists(st.sampled_from(["", "# comment = 1", "\t", "# [table]"]), max_size=4))
    assume(name not in TABLES[table])
    assume(table or name not in {"slack", "missive", "tools", "assistant"})
    place = {"routes": "[[routes]]\nagent = 'pi'\nchannel = 'local'"}.get(table, f"[{table}]" if table else "")
    spelling = data.draw(st.sampled_from(["plain", "dotted", "inline"]))
    if table in {"", "routes"} or spelling == "plain":
        lines = ["channel = 'local'", *noise, *place.splitlines(), *noise, f"{name} = '''secret\nsecret'''"]
    elif spelling == "dotted":
        lines = ["channel = 'local'", *noise, f"{table}  . {name} = {{ secret = 'secret' }}"]
    else:
        lines = ["channel = 'local'", *noise, f"{table} = {{ {name} = ['secret'] }}"]
    (home / "config.toml").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidConfig) as caught:
        load()
    findings = [f for f in caught.value.findings if f.problem == "is not a setting"]
    assert [(f.path[-1], f.line) for f in findings] == [(name, len(lines))]
    assert "secret" not in said(caught.value)
