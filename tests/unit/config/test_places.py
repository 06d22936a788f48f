"""Where files may lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from push.config import Settings, load
from push.config.findings import InvalidConfig

Loaded = Callable[[str], Settings]
Refused = Callable[[str], InvalidConfig]
LOCAL = 'channel = "local"\n'
MOVABLE = ["state_path", "database_path", "audit_log_path", "drafts_dir", "jobs_run_dir", "sessions_dir"]


@pytest.mark.parametrize("key", MOVABLE)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("state.json", "is a relative path"),
        ("/var/../x", "has '..' in it"),
        ("~/../x", "has '..' in it"),
        ("~no-such-user/x", "names a home folder that does not exist"),
    ],
)
def test_a_path_is_absolute_and_plain(refused: Refused, key: str, value: str, problem: str) -> None:
    error = refused(f'{LOCAL}{key} = "{value}"\n')
    assert error.message.endswith(f":2: {key} {problem}")
    assert error.why == "expected an absolute path, or one that begins with ~, without '..'"


@pytest.mark.parametrize("value", ["../assistant", "a/../b"])
def test_the_assistants_folder_has_no_dots_either(refused: Refused, value: str, home: Path) -> None:
    error = refused(f'{LOCAL}assistant_root = "{value}"\n')
    assert error.message.endswith(":2: assistant_root has '..' in it")
    assert f"relative to {home}" in error.why


def test_a_relative_assistant_is_relative_to_the_file(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "my.toml").write_text(f'{LOCAL}assistant_root = "assistant"\n')
    assert load(folder / "my.toml").assistant_root == folder.resolve() / "assistant"


def test_and_to_the_file_behind_a_link(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "dotfiles"
    folder.mkdir()
    (folder / "my.toml").write_text(f'{LOCAL}assistant_root = "assistant"\n')
    (home / "config.toml").symlink_to(folder / "my.toml")
    settings = load()
    assert settings.assistant_root == folder.resolve() / "assistant"
    assert settings.path == home / "config.toml"


def test_links_are_followed_as_far_as_the_path_exists(loaded: Loaded, home: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (home / "link").symlink_to(tmp_path / "disk")
    settings = loaded(f'{LOCAL}drafts_dir = "{home}/link/not/yet"\n')
    assert settings.home.drafts == tmp_path.resolve() / "disk/not/yet"


@pytest.mark.parametrize("key", MOVABLE)
def test_pushs_files_lie_outside_the_assistant(refused: Refused, key: str, tmp_path: Path) -> None:
    error = refused(f'{LOCAL}assistant_root = "{tmp_path}"\n{key} = "{tmp_path}/kept/it"\n')
    assert f":3: {key} mixes the assistant's folder with {tmp_path.resolve()}/kept/it" in error.message
    assert error.details == ()


def test_also_through_a_link(refused: Refused, tmp_path: Path, home: Path) -> None:
    (home / "link").symlink_to(tmp_path)
    error = refused(f'{LOCAL}assistant_root = "{tmp_path}"\nstate_path = "{home}/link/state.json"\n')
    assert "state_path mixes" in error.message


def test_the_assistant_lies_outside_pushs_folders(refused: Refused, home: Path) -> None:
    error = refused(f'{LOCAL}assistant_root = "{home}/drafts/assistant"\n')
    assert ":2: assistant_root mixes" in error.message


def test_a_home_inside_the_assistant_is_one_finding(refused: Refused, home: Path) -> None:
    error = refused(f'{LOCAL}assistant_root = "{home}"\n')
    assert "assistant_root mixes the assistant's folder with" in error.message
    assert "9 more of Push's own" in error.message
    assert error.details == ()


@pytest.mark.parametrize("left", ["drafts_dir", "jobs_run_dir", "sessions_dir"])
@pytest.mark.parametrize("right", ["drafts_dir", "jobs_run_dir", "sessions_dir"])
@pytest.mark.parametrize("below", ["", "/deep/down"])
def test_folders_do_not_overlap(refused: Refused, tmp_path: Path, left: str, right: str, below: str) -> None:
    if left == right:
        return
    error = refused(f'{LOCAL}{left} = "{tmp_path}"\n{right} = "{tmp_path}{below}"\n')
    assert "overlaps" in error.message
    assert {left, right} & set(error.message.replace("(", " ").split())


def test_nor_with_a_folder_that_is_not_movable(refused: Refused, home: Path) -> None:
    assert ":2: drafts_dir overlaps spool" in refused(f'{LOCAL}drafts_dir = "{home}/spool/drafts"\n').message


def test_jobs_of_an_old_layout_count_too(refused: Refused, home: Path) -> None:
    old = f'assistant_dir = "{home}"\njobs_dir = "{home}/jobs"\n'
    assert ":4: drafts_dir overlaps jobs" in refused(f'{LOCAL}{old}drafts_dir = "{home}/jobs/drafts"\n').message


@pytest.mark.parametrize(
    ("key", "name", "rival"),
    [
        ("state_path", "push.db", "database_path"),
        ("audit_log_path", "state.json", "state_path"),
        ("database_path", "queue.db", "queue_db"),
        ("state_path", "config.toml", "the configuration"),
    ],
)
def test_every_file_is_one_of_its_own(refused: Refused, home: Path, key: str, name: str, rival: str) -> None:
    error = refused(f'{LOCAL}{key} = "{home}/{name}"\n')
    assert error.message.endswith(f":2: {key} is the same file as {rival}")


@pytest.mark.parametrize("folder", ["drafts_dir", "sessions_dir"])
def test_no_file_lies_in_drafts_or_sessions(refused: Refused, tmp_path: Path, folder: str) -> None:
    error = refused(f'{LOCAL}{folder} = "{tmp_path}"\nstate_path = "{tmp_path}/state.json"\n')
    assert f":3: state_path puts {tmp_path.resolve()}/state.json inside {folder}" in error.message


def test_not_the_configuration_either(tmp_path: Path, home: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(f'{LOCAL}drafts_dir = "{tmp_path}"\n')
    with pytest.raises(InvalidConfig, match=r":2: drafts_dir puts .*my\.toml inside drafts_dir"):
        load(file)


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ('telegram.bot_token = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"', "MY_BOT"),
        ('voice.openai_api_key = "sk-secret"', "OPENAI_API_KEY"),
        ('sentry.dsn = "https://secret@example.org/1"', "SENTRY_DSN"),
    ],
)
def test_no_secret_in_a_file_inside_the_assistant(tmp_path: Path, home: Path, text: str, variable: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'{LOCAL}assistant_root = "."\ntelegram.bot_token_env = "MY_BOT"\n{text}\n')
    with pytest.raises(InvalidConfig) as caught:
        load(file)
    assert ":4: " in caught.value.message
    assert f"the variable {variable}" in caught.value.why
    file.write_text(f'{LOCAL}assistant_root = "."\n')
    assert load(file).assistant_root == tmp_path.resolve()


def test_push_home_moves_everything_and_explicit_keys_win(loaded: Loaded, home: Path, tmp_path: Path) -> None:
    settings = loaded(f'{LOCAL}state_path = "{tmp_path}/state.json"\n')
    assert settings.home.root == home
    assert settings.home.push_db == home / "push.db"
    assert settings.home.state == tmp_path.resolve() / "state.json"
    assert settings.assistant_root == home / "assistant"


def test_without_push_home_it_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".push").mkdir()
    (tmp_path / ".push/config.toml").write_text(LOCAL)
    assert load().home.root == tmp_path / ".push"
