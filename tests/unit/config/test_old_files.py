"""Configurations of the earlier implementation load, or say what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from push.config import Settings
from push.config.findings import InvalidConfig

Loaded = Callable[[str], Settings]
Refused = Callable[[str], InvalidConfig]
TOKEN = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"


def test_every_key_of_the_first_release(loaded: Loaded, home: Path) -> None:
    settings = loaded(f"""\
channels = ["imessage", "telegram"]
agent = "codex"
assistant_root = "assistant"
poll_interval = "500ms"
run_timeout = "1h 30m"
claude_bin = "~/bin/claude"
codex_bin = "codex"
pi_bin = "/opt/pi"
codex_model = "gpt-5"
reply_marker = "\\n\\n-- my assistant"
sessions_dir = "{home}/sessions"
state_path = "{home}/kept/state.json"
database_path = "{home}/kept/push.db"
audit_log_path = "{home}/kept/audit.jsonl"
audit_log_content = true
drafts_dir = "{home}/kept/drafts"
jobs_agent = "pi"
jobs_max_timeout = "45m"
jobs_run_dir = "{home}/kept/run"
jobs_max_workers = 3

[imessage]
db_path = "~/Library/Messages/chat.db"
self_handles = ["you@icloud.com"]
allow_from = ["+15551234567"]

[telegram]
bot_token = "{TOKEN}"
bot_token_env = "MY_BOT"
allow_user_ids = [123456789]
allow_chat_ids = [987654321]

[voice]
openai_api_key = "sk-key-of-the-owner"

[primary_delivery]
channel = "telegram"
target = "123456789:42"

[[routes]]
thread = "telegram:dm:123456789"
channel = "telegram"
agent = "claude"

[[routes]]
channel = "imessage"
agent = "pi"
""")
    assert settings.channels == ("imessage", "telegram")
    assert (settings.agent, settings.jobs_agent) == ("codex", "pi")
    assert settings.assistant_root == home / "assistant"
    assert (settings.poll_interval, settings.run_timeout, settings.jobs_max_timeout) == (0.5, 5400.0, 2700.0)
    assert settings.bin_for("claude") == (str(Path("~/bin/claude").expanduser()),)
    assert (settings.bin_for("codex"), settings.bin_for("pi")) == (("codex",), ("/opt/pi",))
    assert (settings.codex_model, settings.reply_marker) == ("gpt-5", "\n\n-- my assistant")
    kept = settings.home
    assert (kept.state, kept.push_db) == (home / "kept/state.json", home / "kept/push.db")
    assert (kept.audit, kept.drafts, kept.run) == (home / "kept/audit.jsonl", home / "kept/drafts", home / "kept/run")
    assert (kept.root, kept.queue_db, kept.spool) == (home, home / "queue.db", home / "spool")
    assert settings.audit_log_content
    assert settings.jobs_max_workers == 3
    assert settings.imessage.db_path == Path("~/Library/Messages/chat.db").expanduser()
    assert settings.imessage.self_handles == ("you@icloud.com",)
    assert settings.imessage.allow_from == ("+15551234567",)
    assert settings.telegram.bot_token is not None
    assert settings.telegram.bot_token.get_secret_value() == TOKEN
    assert settings.telegram.allow_user_ids == {123456789}
    assert settings.telegram.allow_chat_ids == {987654321}
    assert settings.voice.openai_api_key is not None
    assert settings.primary_delivery is not None
    assert (settings.primary_delivery.channel, settings.primary_delivery.target) == ("telegram", "123456789:42")
    assert [(r.thread, r.channel, r.agent) for r in settings.routes] == [
        ("telegram:dm:123456789", "telegram", "claude"),
        (None, "imessage", "pi"),
    ]


def test_the_quick_start(loaded: Loaded, home: Path) -> None:
    settings = loaded(f"""\
channel = "telegram"
agent = "codex"
assistant_root = "~/Code/assistant"

[telegram]
bot_token = "{TOKEN}"
allow_user_ids = [123456789]
""")
    assert settings.channels == ("telegram",)
    assert settings.assistant_root == Path("~/Code/assistant").expanduser()
    assert settings.run_timeout == 600.0


def test_defaults_are_those_of_the_reference(loaded: Loaded, home: Path) -> None:
    settings = loaded('assistant_root = "a"\nimessage.self_handles = ["a@b.c"]\n')
    assert (settings.channels, settings.agent, settings.jobs_agent) == (("imessage",), "claude", "claude")
    assert (settings.poll_interval, settings.jobs_max_timeout, settings.jobs_max_workers) == (3.0, 1800.0, 2)
    assert (settings.turns_workers, settings.progress, settings.shutdown) == (32, "typing", "hand_over")
    assert (settings.delivery.expire_after, settings.delivery.on_unknown) == (86_400.0, "once")
    assert settings.reply_marker == "\n\n-- sent by push"
    assert settings.telegram.base_file_url == "https://api.telegram.org/file"
    assert (settings.voice.transcribe_model, settings.voice.speech_model) == ("gpt-4o-transcribe", "gpt-4o-mini-tts")
    assert settings.home.push_db == home / "push.db"
    assert settings.command is None
    assert settings.primary_delivery is None


def test_flat_keys_before_there_were_tables(loaded: Loaded) -> None:
    settings = loaded(f"""\
channels = ["telegram", "imessage"]
assistant_root = "assistant"
db_path = "/data/chat.db"
self_handles = ["you@icloud.com"]
allow_from = ["+15551234567"]
telegram_bot_token = "{TOKEN}"
telegram_bot_token_env = "MY_BOT"
telegram_allow_user_ids = [1]
telegram_allow_chat_ids = [2]
""")
    assert settings.imessage.db_path == Path("/data/chat.db")
    assert (settings.imessage.self_handles, settings.imessage.allow_from) == (("you@icloud.com",), ("+15551234567",))
    assert (settings.telegram.bot_token_env, settings.telegram.allow_user_ids) == ("MY_BOT", frozenset({1}))
    assert settings.telegram.allow_chat_ids == {2}
    assert {"telegram.bot_token", "imessage.db_path"} <= settings.written


def test_a_flat_key_with_a_wrong_value_is_named_as_it_is_written(refused: Refused) -> None:
    error = refused('channel = "local"\n\ntelegram_allow_user_ids = ["1"]\n')
    assert error.message.endswith(":3: telegram_allow_user_ids, item 1 is a string")


def test_flat_and_in_its_table_is_one_too_many(refused: Refused) -> None:
    error = refused('channel = "local"\nallow_from = ["a@b"]\n[imessage]\nallow_from = ["c@d"]\n')
    assert error.message.endswith(":2: allow_from is set here and as imessage.allow_from")


def test_a_flat_key_beside_a_table_that_is_none(refused: Refused) -> None:
    error = refused('channel = "local"\nallow_from = ["a@b"]\nimessage = 3\n')
    assert [finding.line for finding in error.findings] == [3]


def test_assistant_dir_and_jobs_dir(loaded: Loaded, tmp_path: Path) -> None:
    settings = loaded(f'channel = "local"\nassistant_dir = "{tmp_path}"\njobs_dir = "{tmp_path}/jobs"\n')
    assert settings.assistant_root == tmp_path.resolve()
    assert "assistant_root" in settings.written


def test_assistant_dir_may_be_the_home_itself_as_it_once_was(loaded: Loaded, home: Path) -> None:
    settings = loaded(f"""\
channel = "telegram"
assistant_dir = "{home}"
jobs_dir = "{home}/jobs"
telegram_bot_token = "{TOKEN}"
telegram_allow_user_ids = [1]
""")
    assert settings.assistant_root == home.resolve()


def test_jobs_dir_elsewhere_says_what_to_do(refused: Refused, tmp_path: Path) -> None:
    error = refused(f'channel = "local"\nassistant_dir = "{tmp_path}"\njobs_dir = "{tmp_path}/runbooks"\n')
    assert ":3: jobs_dir is not part of one assistant's folder" in error.message
    assert "name it by assistant_root" in error.why


def test_old_and_new_assistant_keys_do_not_mix(refused: Refused) -> None:
    error = refused('channel = "local"\nassistant_root = "a"\njobs_dir = "/b/jobs"\n')
    assert error.message.endswith(":3: jobs_dir is set beside assistant_root, which replaces it")


def test_a_wrong_assistant_dir(refused: Refused) -> None:
    assert ":2: assistant_dir is a whole number" in refused('channel = "local"\nassistant_dir = 3\n').message


def test_before_assistant_root_the_assistant_was_the_home(loaded: Loaded, home: Path) -> None:
    (home / "SOUL.md").write_text("I am\n")
    settings = loaded('imessage.self_handles = ["a@b.c"]\n')
    assert settings.assistant_root == home.resolve()


def test_without_any_assistant_it_is_asked_for(refused: Refused) -> None:
    error = refused('imessage.self_handles = ["a@b.c"]\n')
    assert "assistant_root is missing" in error.message


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('permission_profile = "restricted"', "permission_profile"),
        ('permission_profiles.mine.capability = "read-only"', "permission_profiles"),
        ('job_permission_profiles = ["a"]', "job_permission_profiles"),
        ('codex_sandbox = "read-only"', "codex_sandbox"),
        ('codex_approval_policy = "never"', "codex_approval_policy"),
        ('claude_permission_mode = "plan"', "claude_permission_mode"),
        ("allowed_tools = []", "allowed_tools"),
        ("claude_disallowed_tools = []", "claude_disallowed_tools"),
        ('[assistant]\nname = "x"', "assistant"),
        ('[slack]\napp_token = "xapp-1"', "slack"),
        ("telegram.max_audio_bytes = 1", "telegram.max_audio_bytes"),
        (
            "[[routes]]\nchannel = 'local'\nagent = 'pi'\npermission_profile = 'x'",
            "routes, item 1, permission_profile",
        ),
    ],
)
def test_a_key_that_is_gone_says_what_to_do(refused: Refused, text: str, key: str) -> None:
    error = refused(f'channel = "local"\n{text}\n')
    assert f"{key} is no longer a setting" in error.message
    assert "remove it" in error.why
    assert error.details == ()
