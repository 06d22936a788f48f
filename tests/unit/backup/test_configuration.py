"""What becomes of a configuration's text: no secret on its way in, right paths on its way out, comments stay."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from push.backup import configuration
from push.backup.manifest import Manifest
from push.errors import Failed

TOKEN = "987654321:" + "A" * 35
OLD = "123456789:" + "B" * 35
MANIFEST = Manifest("2026-01-01T00:00:00Z", "0", 3, 0, 0, "/old", "/old/mine", "", False, {}, {})

TEXT = f"""\
# the old one was {OLD}; sk-abcdefghijklmnopqrstuvwx is claude's
channels = ["telegram"]   # one
assistant_root = "mine"
command = ["sh", "-c", "KEY=word-of-mine exec x"]

[telegram]
bot_token = "{TOKEN}"   # mine
allow_user_ids = [7]

[voice]
openai_api_key = "short"
[sentry]
dsn = "https://0123456789abcdef0123456789abcdef@sentry.example/1"
"""


def test_known_secrets_and_what_looks_like_one_are_gone_and_the_keys_are_kept() -> None:
    clean = configuration.without_secrets(TEXT, ("word-of-mine",))
    for secret in (TOKEN, OLD, "word-of-mine", "sk-abcdef", "short", "0123456789abcdef"):
        assert secret not in clean
    kept = tomllib.loads(clean)
    assert kept["channels"] == ["telegram"]
    assert (kept["telegram"], kept["voice"], kept["sentry"]) == ({"allow_user_ids": [7]}, {}, {})
    assert '# bot_token = "[redacted]"  # left out of the backup\n' in clean
    assert clean.count("\n") == TEXT.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        f'telegram = {{ bot_token = "{TOKEN}", allow_user_ids = [7] }}\n',
        f'telegram.bot_token = "{TOKEN}"\n',
        f"telegram_bot_token = '{TOKEN}'\n",
        f'[telegram]\n"bot_token" = "{TOKEN}"\n',
        f'[telegram]\nbot_token = """{TOKEN}"""\n',
        '[telegram]\nbot_token = "' + "".join(f"\\u{ord(char):04x}" for char in TOKEN) + '"\n',
    ],
)
def test_however_it_is_written(text: str) -> None:
    clean = configuration.without_secrets(text, ())
    assert TOKEN not in clean
    assert "\\u0039" not in clean
    assert TOKEN not in str(tomllib.loads(clean))


def test_one_that_cannot_be_taken_out_is_an_error_without_it() -> None:
    odd = "".join(f"\\u{ord(char):04x}" for char in TOKEN)
    with pytest.raises(Failed) as failure:
        configuration.without_secrets(f'telegram = {{ bot_token = "{odd}" }}\n', ())
    assert TOKEN not in failure.value.message + failure.value.why
    assert failure.value.hint == "push backup create --with-secrets"


def test_paths_that_point_outside_are_commented_out_and_a_relative_assistant_is_made_absolute() -> None:
    text = (
        '# paths\nstate_path = "/old/state.json"\ndatabase_path = "/new/push.db"  # here\n'
        'audit_log_path = "/var/log/push.jsonl"\ndrafts_dir = "/new/my/drafts"\n'
        'assistant_root = "mine"\n[telegram]\nallow_user_ids = [7]\n'
    )
    found = configuration.adapted(text, MANIFEST, Path("/new"))
    document = tomllib.loads(found.text)
    assert document == {
        "database_path": "/new/push.db",
        "drafts_dir": "/new/my/drafts",
        "assistant_root": "/old/mine",
        "telegram": {"allow_user_ids": [7]},
    }
    assert '# state_path = "/old/state.json"\n' in found.text
    assert [note.split()[0] for note in found.notes] == ["state_path", "audit_log_path", "assistant_root"]


@pytest.mark.parametrize(
    ("text", "root", "found"),
    [
        ('assistant_root = "/abs"\n', "/abs", "/abs"),
        ('assistant_root = "~/mine"\n', "/old/mine", "~/mine"),
        ('channels = ["local"]\n', "/old/assistant", None),
        ("[telegram]\nallow_user_ids = [7]\n", "/old", "/old"),  # the home was the assistant's folder itself
        ('assistant_dir = "/old"\n', "/old", None),
    ],
)
def test_the_assistants_folder_is_where_it_was(text: str, root: str, found: str | None) -> None:
    changed = configuration.adapted(text, replace(MANIFEST, assistant_root=root), Path("/new"))
    assert tomllib.loads(changed.text).get("assistant_root") == found


def test_a_path_over_several_lines_is_an_error() -> None:
    with pytest.raises(Failed, match="cannot be changed"):
        configuration.adapted('state_path = """\n/old/state.json"""\n', MANIFEST, Path("/new"))


def test_the_ledger_is_found_where_it_was_restored() -> None:
    found = configuration.adapted('database_path = "/new/deeper/ledger.db"\n', MANIFEST, Path("/new"))
    assert "database_path" not in tomllib.loads(found.text)
