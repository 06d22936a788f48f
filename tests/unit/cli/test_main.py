"""The command `push`: help, errors, exit codes."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click
import pytest

from push import errors
from push.cli import main as entry
from push.cli.options import config_file, config_option, json_option, settings, settings_or_default, wants_json

ROOT = Path(__file__).resolve().parents[3]
SECRET = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"

Raising = Callable[[BaseException], None]


@pytest.fixture
def nouns(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module of nouns for one test; `do` is a command of it."""
    module = types.ModuleType("nouns_of_a_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(entry.COMMANDS, "do", (f"{module.__name__}:do", "Does what the test wants."))
    return module


@pytest.fixture
def raising(nouns: types.ModuleType) -> Raising:
    """Let `push do` end with an exception."""

    def arrange(exc: BaseException) -> None:
        @click.command()
        @json_option
        def do() -> NoReturn:
            raise exc

        nouns.do = do  # type: ignore[attr-defined]

    return arrange


@pytest.mark.parametrize(
    ("kind", "code", "exit_code"),
    [
        (errors.Failed, "failed", 1),
        (errors.UsageError, "usage", 2),
        (errors.ConfigError, "configuration", 3),
        (errors.DependencyError, "dependency_unavailable", 4),
        (errors.TemporaryError, "temporary", 5),
        (errors.ConflictError, "conflict", 6),
    ],
)
def test_exit_codes(
    raising: Raising, capsys: pytest.CaptureFixture[str], kind: type[errors.PushError], code: str, exit_code: int
) -> None:
    raising(kind("what", why="why", hint="push next"))
    assert entry.main(["do"]) == exit_code
    assert capsys.readouterr().err == f"error: what\nwhy: why (docs/reference/errors.md#{code})\nnext: push next\n"
    for words in (["do", "--json"], ["--json", "do"]):
        assert entry.main(words) == exit_code
        assert json.loads(capsys.readouterr().err)["error"]["code"] == code


@pytest.mark.parametrize("exc", [KeyboardInterrupt(), click.Abort()])
def test_interrupted(raising: Raising, exc: BaseException) -> None:
    raising(exc)
    assert entry.main(["do"]) == 130


def test_what_nobody_foresaw_shows_where_and_never_its_text(
    raising: Raising, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(ValueError(f"a message with {SECRET}"))
    assert entry.main(["do"]) == 70
    said = capsys.readouterr().err
    assert said.startswith("error: unexpected ValueError at test_main.py:")
    assert "Traceback" not in said
    assert SECRET not in said
    monkeypatch.setenv("PUSH_DEBUG", "1")
    assert entry.main(["do"]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_the_operating_system_refuses_is_one_clear_answer(
    raising: Raising, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    raising(OSError(number, "No room", "/some/file"))
    assert entry.main(["do"]) == 5
    assert capsys.readouterr().err.startswith("error: No room: /some/file\nwhy: ")
    assert entry.main(["do", "--json"]) == 5
    assert json.loads(capsys.readouterr().err)["error"]["code"] == errno.errorcode[number].lower()


def test_an_exit_code_of_the_commands_own(nouns: types.ModuleType) -> None:
    @click.command()
    def do() -> int:
        return 1

    nouns.do = do  # type: ignore[attr-defined]
    assert entry.main(["do"]) == 1


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ([], "push needs a command", "push --help"),
        (["config"], "push config needs a command", "push config --help"),
        (["confg"], "No such command 'confg'. Did you mean 'config'?", "push --help"),
        (["config", "pth"], "No such command 'pth'.", "push config --help"),
        (["config", "path", "--jsn"], "No such option", "push config path --help"),
        (["config", "path", "--config"], "Option '--config' requires an argument.", "push --help"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], words: list[str], message: str, hint: str) -> None:
    assert entry.main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {message}")
    assert said.endswith(f"next: {hint}\n")
    assert entry.main(["--json", *words]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "usage"


def test_a_wrong_line_shows_the_right_one_and_has_three_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for words, usage in (["turns", "show"], "[OPTIONS] ID"), (["completion"], "[OPTIONS] {bash|zsh|fish}"):
        entry.main(words)
        error, why, _ = capsys.readouterr().err.splitlines()
        assert error.startswith("error: Missing argument")
        assert why.startswith(f"why: Usage: push {' '.join(words)} {usage}")


def test_an_unknown_command_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    entry.main(["confg"])
    assert "run, poll, consumer, chat, status" in capsys.readouterr().err


def test_help_imports_no_noun(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(entry.COMMANDS, "later", ("push.cli.not_yet_there:later", "Comes later."))
    assert entry.main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, (_, line) in entry.COMMANDS.items():
        assert any(row.split() == [name, *line.split()] for row in shown.splitlines()), name
    assert 'push chat "What is on today?"' in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["--version"]) == 0
    assert capsys.readouterr().out == "push 0.1.0\n"


def test_config_and_json_stand_anywhere_and_the_last_counts(nouns: types.ModuleType) -> None:
    seen: list[tuple[Path | None, bool]] = []

    @click.group()
    @config_option
    @json_option
    def do() -> None:
        pass

    @do.command()
    @config_option
    @json_option
    @click.pass_context
    def it(ctx: click.Context) -> None:
        seen.append((config_file(ctx), wants_json(ctx)))

    nouns.do = do  # type: ignore[attr-defined]
    for words in (
        ["--config", "a", "--json", "do", "it"],
        ["do", "--config=a", "it", "--json"],
        ["do", "--json", "it", "--config", "a"],
        ["--config", "b", "do", "--config", "c", "it", "--config", "a", "--json"],
    ):
        assert entry.main(words) == 0
        assert seen.pop() == (Path("a"), True)
    assert entry.main(["do", "it"]) == 0
    assert seen.pop() == (None, False)


def test_settings_are_loaded_once(nouns: types.ModuleType, home: Path) -> None:
    @click.command()
    @click.pass_context
    def do(ctx: click.Context) -> None:
        first = settings_or_default(ctx)
        assert first.path is None
        (home / "config.toml").write_text('channel = "local"\nagent = "pi"\n')
        assert settings_or_default(ctx) is first
        assert settings(ctx).agent == "pi"
        (home / "config.toml").unlink()
        assert settings(ctx).agent == "pi"

    nouns.do = do  # type: ignore[attr-defined]
    assert entry.main(["do"]) == 0


def push(*words: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "push", *words]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, cwd=ROOT)


@pytest.mark.parametrize("words", [["config", "schema"], ["config", "path"], ["--help"]])
def test_a_reader_that_leaves_is_no_error(home: Path, words: list[str]) -> None:
    process = push(*words)
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(timeout=30)
    assert said == b""
    assert process.returncode in {0, 1} if words == ["--help"] else process.returncode == 0


def test_no_restart_storm(home: Path) -> None:
    """A service manager is told not to try again on 3: so a wrong configuration must end with exactly that."""
    (home / "config.toml").write_text("allow_user_id = [1]\n")
    process = push("config", "validate")
    _, said = process.communicate(timeout=30)
    assert process.returncode == 3
    assert b"allow_user_id is not a setting" in said


def commands(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            found += commands(inner, (*path, name))
    return found


def test_every_command_takes_config_and_says_what_it_does() -> None:
    for path, command in commands(entry.cli):
        assert "--config" in {name for parameter in command.params for name in parameter.opts}, path
        assert (command.help or "").strip(), path
