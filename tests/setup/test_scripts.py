"""`push init` without a person: options alone, and what is left out is said with its command."""

from __future__ import annotations

import pytest

from push.agents.registry import ADAPTERS
from push.cli.init import _AGENTS
from push.tasks import roles
from tests.setup.desk import Desk

pytestmark = pytest.mark.crash

WRONG = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"


def _hint(err: str) -> list[str]:
    """The words behind `push` of what an error says is next."""
    return next(line for line in err.splitlines() if line.startswith("next: ")).removeprefix("next: push ").split()


def test_everything_by_options_and_again_without_a_change(place: Desk) -> None:
    place.program("pi")
    token = place.folder / "token"
    token.write_text(f"{place.telegram.token}\n")
    words = ("init", "mine", "--agent", "pi", "--bot-token-file", "token", "--owner", "7", "--no-service")
    done = place.run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Assistant: {place.folder}/mine (made SOUL.md, " in done.stderr
    assert "Agent: pi" in done.stderr
    assert "Who may write: 7" in done.stderr
    assert done.stderr.rstrip().endswith("Next: push run\nThen write to @push_bot in Telegram.")
    assert done.stdout.splitlines()[-1].endswith("0 failed")
    text = place.config.read_bytes()
    assert b'channel = "telegram"' in text
    assert (place.folder / "mine/.git").is_dir()
    again = place.run(*words)
    assert again.returncode == 0, again.stdout + again.stderr
    assert place.config.read_bytes() == text
    assert place.telegram.token.partition(":")[2] not in done.stdout + done.stderr + place.everything()
    assert not place.telegram.requests("getUpdates")


def test_without_anything_it_is_the_terminal_and_says_what_was_left_out(place: Desk) -> None:
    place.config.unlink()
    done = place.run("init")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No agent is on PATH" in done.stderr
    assert "Left out: Telegram. With a bot's token in a file: push init --bot-token-file FILE" in done.stderr
    assert 'channel = "local"' in place.config.read_text()
    assert place.config.stat().st_mode & 0o777 == 0o600
    chat = place.run("chat", "hello")
    assert chat.returncode == 0, chat.stderr
    assert chat.stdout.startswith("Hello!")


def test_a_token_from_the_variable_is_used_and_not_written(place: Desk) -> None:
    done = place.run("init", TELEGRAM_BOT_TOKEN=place.telegram.token)
    assert "the bot is @push_bot" in done.stderr
    assert "a service does not see" in done.stderr
    assert "Left out: who may write. With your number on Telegram: push init --owner ID" in done.stderr
    assert "bot_token" not in place.config.read_text()
    assert 'channel = "telegram"' in place.config.read_text()


@pytest.mark.parametrize("words", [("--bot-token-file", "token"), ("--bot-token-file", "-")])
def test_a_token_that_is_refused_is_not_stored(place: Desk, words: tuple[str, str]) -> None:
    (place.folder / "token").write_text(WRONG)
    before = place.config.read_text()
    done = place.run("init", *words, stdin=WRONG)
    assert done.returncode == 3
    assert _hint(done.stderr) == ["init", "--bot-token-file", "-"]
    assert WRONG not in place.config.read_text() + done.stderr + done.stdout
    repaired = place.run(*_hint(done.stderr), stdin=f"{place.telegram.token}\n")
    assert repaired.returncode == 0, repaired.stderr
    assert f'bot_token = "{place.telegram.token}"' in place.config.read_text()
    assert place.config.read_text() != before


def test_a_configured_token_that_is_refused_names_the_repair(place: Desk) -> None:
    place.config.write_text(f'{place.config.read_text()}bot_token = "{WRONG}"\n')
    done = place.run("init")
    assert done.returncode == 3
    assert place.run(*_hint(done.stderr), stdin=place.telegram.token).returncode == 0


def test_a_service_that_cannot_be_reached_keeps_what_was_done(place: Desk) -> None:
    place.telegram.refuse_connections()
    done = place.run("init", "--bot-token-file", "-", stdin=place.telegram.token)
    assert done.returncode == 5
    assert "assistant_root" in place.config.read_text()
    assert "bot_token" not in place.config.read_text()


def test_an_agent_that_is_missing_names_one_that_is_there(place: Desk) -> None:
    place.program("codex")
    done = place.run("init", "--agent", "pi")
    assert done.returncode == 4
    assert "on PATH: codex" in done.stderr
    assert not (place.folder / "assistant").exists()
    again = place.run(*_hint(done.stderr))
    assert again.returncode == 0, again.stdout
    assert 'agent = "codex"' in place.config.read_text()


def test_a_missing_program_of_the_owners_own_does_not_name_itself(place: Desk) -> None:
    place.config.write_text('channel = "local"\nagent = "command"\ncommand = ["catx"]\n')
    done = place.run("init", "--agent", "command")
    assert (done.returncode, _hint(done.stderr)) == (4, ["config", "show"])


def test_a_service_where_there_is_no_supervisor(place: Desk) -> None:
    done = place.run("init", "--service", DBUS_SESSION_BUS_ADDRESS="", XDG_RUNTIME_DIR="")
    assert done.returncode == 4
    assert _hint(done.stderr) == ["run"]


def test_a_gateway_that_runs_is_told_to_read_the_new_token(place: Desk) -> None:
    role = roles.take(place.home / "run", "poll", "push run")
    try:
        done = place.run("init", "--bot-token-file", "-", "--owner", "7", stdin=place.telegram.token)
        assert "Next: push reload" in done.stderr
        assert "The gateway runs." in place.run("init").stderr
    finally:
        role.close()


@pytest.mark.parametrize(("loop", "hint"), [("telegram", ["allow", "list"]), ("local", ["reload"])])
def test_nobody_is_paired_while_a_gateway_reads_the_bot(place: Desk, loop: str, hint: list[str]) -> None:
    role = roles.take(place.home / "run", "poll", "push run")
    role.beat(loop, "reading")
    try:
        screen = place.open("init")
        screen.answer("The bot's token", place.telegram.token)
        screen.until("the bot cannot be asked who you are while `push run` runs")
        screen.until(f"next: push {' '.join(hint)}")
        assert screen.end() == 6
    finally:
        role.close()
    assert not place.telegram.requests("getUpdates")


def test_an_agents_run_cannot_set_anything_up(place: Desk) -> None:
    done = place.run("init", PUSH_RUN=str(place.home / "spool" / "t1"))
    assert done.returncode == 6
    assert not (place.folder / "assistant").exists()


def test_git_that_is_missing_is_said_and_no_failure(place: Desk) -> None:
    done = place.run("init", PATH=str(place.bin))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not under version control: git is not installed. Later: git init " in done.stderr
    assert (place.folder / "assistant/jobs").is_dir()


def test_pushs_own_files_and_the_assistants_lie_apart(place: Desk) -> None:
    config = place.folder / "config.toml"
    place.config.rename(config)
    done = place.run("init", str(place.home), "--config", str(config))
    assert done.returncode == 6
    assert "mixes the assistant's folder with" in done.stderr
    assert not any(place.home.iterdir())
    assert place.run(*_hint(done.stderr)).returncode == 0
    assert f'assistant_root = "{place.home}/assistant"' in config.read_text()


def test_a_configuration_in_the_assistants_folder_holds_no_secret(place: Desk) -> None:
    root = place.folder / "mine"
    root.mkdir()
    config = root / "config.toml"
    place.config.rename(config)
    done = place.run("init", "mine", "--config", "mine/config.toml", TELEGRAM_BOT_TOKEN=place.telegram.token)
    assert done.returncode == 0, done.stderr
    assert 'assistant_root = "."' in config.read_text()
    text = config.read_text()
    done = place.run("init", "--config", str(config), "--bot-token-file", "-", stdin=place.telegram.token)
    assert done.returncode == 3
    assert "is a secret inside the assistant's folder" in done.stderr
    assert config.read_text() == text
    screen = place.open("init", "--config", str(config))
    screen.until("into the variable TELEGRAM_BOT_TOKEN, and then: push init --config ")
    assert screen.end() == 1, "Telegram is on, and has no token"


def test_the_agents_on_the_command_line_are_those_that_there_are() -> None:
    assert set(_AGENTS) == set(ADAPTERS)
