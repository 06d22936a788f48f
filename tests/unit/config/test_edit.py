"""Changing config.toml: comments, order and mode stay, and a bad result changes nothing."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from pydantic import SecretStr

from push.config import edit
from push.config.findings import InvalidConfig
from push.errors import ConfigError, ConflictError, TemporaryError
from tests.unit.config.conftest import TOKEN

LOCAL: edit.Changes = {"channel": "local"}
TEXT = """\
# mine

# who
agent = "pi"  # the best

# where Telegram is
[telegram]
base_url = "http://127.0.0.1:1"  # a fake
# bot_token = "..."

# how it sounds
[voice]
name = "cedar"
"""


def changed(path: Path, changes: edit.Changes) -> str:
    edit.draft(path, changes).save()
    return path.read_text()


def test_a_new_file_is_private_and_loads(home: Path) -> None:
    path = home / "deep" / "config.toml"
    draft = edit.draft(path, {**LOCAL, "agent": "codex", "telegram.bot_token": SecretStr(TOKEN)})
    assert not path.exists()
    assert draft.settings.agent == "codex"
    assert TOKEN not in repr(draft)
    assert draft.save()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().endswith(f'channel = "local"\nagent = "codex"\n\n[telegram]\nbot_token = "{TOKEN}"\n')


def test_comments_and_order_are_kept(write: Callable[[str], Path]) -> None:
    path = write(TEXT)
    changes: edit.Changes = {**LOCAL, "agent": "claude", "telegram.bot_token": SecretStr(TOKEN), "voice.name": "cedar"}
    assert changed(path, changes) == TEXT.replace(
        'agent = "pi"  # the best\n', 'agent = "claude"  # the best\nchannel = "local"\n'
    ).replace("# a fake\n", f'# a fake\nbot_token = "{TOKEN}"\n')


def test_the_same_again_changes_no_byte(write: Callable[[str], Path]) -> None:
    path = write(TEXT)
    changes: edit.Changes = {**LOCAL, "command": ["a", "b"], "telegram.bot_token": SecretStr(TOKEN)}
    changed(path, changes)
    before = path.stat()
    assert not edit.draft(path, changes).save()
    assert path.stat().st_ino == before.st_ino
    assert not edit.draft(path, {}).save()


@pytest.mark.parametrize(
    "text",
    [
        "# only a remark",
        "\n\n[telegram]\n",
        "telegram.base_url = 'http://x'\n[voice]\nname='cedar'\n",
        "telegram = {base_url='http://x'}\nagent='claude'\n",
        "[[routes]]\nchannel='local'\nagent='pi'\n",
        "agent='pi'\r\n# voice\r\n[voice]\r\nname='cedar'\r\n",
        "command=[\n  'a', # x\n  '[b]',\n]\n# t\n[telegram]\n# y = 2\n\n[voice]",
        "reply_marker = '''\n[telegram]\n# x'''\n[ telegram ] # here\n[voice]",
        "telegram_bot_token = '1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\n",
    ],
)
def test_whatever_the_file_looks_like(write: Callable[[str], Path], text: str) -> None:
    path = write("")
    path.write_bytes(text.encode())
    draft = edit.draft(path, {**LOCAL, "agent": "codex", "telegram.bot_token": SecretStr(TOKEN)})
    draft.save()
    document = tomllib.loads(path.read_bytes().decode())
    assert (document["channel"], document["agent"]) == ("local", "codex")
    assert draft.settings.telegram.bot_token == SecretStr(TOKEN)
    remarks = [line.strip() for line in text.splitlines() if line.startswith("#")]
    assert [line.strip() for line in path.read_text().splitlines() if line.startswith("#")] == remarks


def test_the_mode_and_a_symlink_are_kept(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text('agent = "pi"\n')
    real.chmod(0o640)
    link = home / "config.toml"
    link.symlink_to(real)
    changed(link, LOCAL)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert 'channel = "local"' in real.read_text()
    changed(link, {"telegram.bot_token": SecretStr(TOKEN)})
    assert real.stat().st_mode & 0o777 == 0o600, "a file with a secret is its owner's alone"


@pytest.mark.parametrize(
    "changes", [{"agent": "cloud"}, {"channel": "telegram"}, {"telegram.bot_token": SecretStr("x")}]
)
def test_what_would_not_load_is_not_written(write: Callable[[str], Path], changes: edit.Changes) -> None:
    path = write('channel = "local"\n')
    with pytest.raises(InvalidConfig):
        edit.draft(path, changes)
    assert path.read_text() == 'channel = "local"\n'
    assert sorted(path.parent.iterdir()) == [path]


def test_what_was_wrong_before_is_told_with_its_own_line(write: Callable[[str], Path]) -> None:
    path = write("\n\n[voice]\nnam = 1\n")
    with pytest.raises(InvalidConfig) as caught:
        edit.draft(path, LOCAL)
    assert f"{path}:4" in caught.value.message


def test_a_file_that_is_no_toml_is_told_with_line_and_column(write: Callable[[str], Path]) -> None:
    path = write("agent = \n")
    with pytest.raises(ConfigError) as caught:
        edit.draft(path, LOCAL)
    assert f"{path}:1:9" in caught.value.message


def test_a_crash_between_leaves_the_old_file_and_the_next_run_cleans_up(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write('channel = "local"\n')
    draft = edit.draft(path, {"agent": "pi"})

    def die(fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)  # a killed process tidies nothing
    with pytest.raises(KeyboardInterrupt):
        draft.save()
    monkeypatch.undo()
    assert path.read_text() == 'channel = "local"\n'
    assert len(list(path.parent.iterdir())) == 2
    draft.save()
    assert 'agent = "pi"' in path.read_text()
    assert list(path.parent.iterdir()) == [path]


def test_a_change_of_somebody_else_is_not_lost(write: Callable[[str], Path]) -> None:
    path = write('channel = "local"\n')
    draft = edit.draft(path, {"agent": "pi"})
    path.write_text('channel = "local"\nagent = "codex"\n')
    with pytest.raises(ConflictError):
        draft.save()
    assert 'agent = "codex"' in path.read_text()


def test_two_who_save_at_once_do_not_mix(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(TEXT)
    first, second = (edit.draft(path, {**LOCAL, "agent": name}) for name in ("claude", "codex"))
    look, others = edit.current, list[Future[bool]]()

    def meanwhile(file: Path) -> str:
        if not others:
            others.append(pool.submit(second.save))
            wait(others, timeout=0.5)  # it is done by then, unless it waits for us
        return look(file)

    monkeypatch.setattr(edit, "current", meanwhile)
    with ThreadPoolExecutor() as pool:
        assert first.save()
        with pytest.raises(ConflictError):
            others[0].result(10)
    assert path.read_text() == first.text
    assert [entry.name for entry in path.parent.glob(".*")] == []


def test_a_full_disk_is_a_clear_error(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write('channel = "local"\n')

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TemporaryError, match="No space left"):
        edit.draft(path, {"agent": "pi"}).save()
    assert path.read_text() == 'channel = "local"\n'
    assert list(path.parent.iterdir()) == [path]
