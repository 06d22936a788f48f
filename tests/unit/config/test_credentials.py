"""Secrets from outside the file: which source wins, and what a bad one is told."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from push.config import Settings, credentials, load
from push.config.reference import effective
from push.errors import ConfigError

Write = Callable[[str], Path]
Loaded = Callable[[str], Settings]
LOCAL = 'channel = "local"\n'
TELEGRAM = 'channels = ["telegram"]\nassistant_root = "mine"\n'
DSN = "https://0123456789abcdef@sentry.example.org/42"


def token(name: str) -> str:
    return f"123456789:{name}".ljust(45, "-")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of Push has one descriptor in its life."""
    monkeypatch.setattr(credentials, "_said", {})
    monkeypatch.setattr(credentials, "_links", {})
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    return tmp_path


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file behind the descriptor."""
    number, name = tempfile.mkstemp()
    os.set_inheritable(number, True)
    monkeypatch.setenv("PUSH_SECRETS_FD", str(number))
    yield Path(name)
    os.close(number)
    Path(name).unlink(missing_ok=True)


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The end into which a test writes what stands behind the descriptor."""
    reader, writer = os.pipe()
    monkeypatch.setenv("PUSH_SECRETS_FD", str(reader))
    yield writer
    os.close(reader)


def chosen(settings: Settings) -> str:
    assert settings.telegram.bot_token is not None
    return settings.telegram.bot_token.get_secret_value()


def refused() -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load()
    assert caught.value.exit_code == 3
    return caught.value


def test_descriptor_then_credential_then_environment(
    loaded: Loaded, file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", token("environment"))
    assert (chosen(loaded(LOCAL)), loaded(LOCAL).sources) == (
        token("environment"),
        {"telegram.bot_token": "environment"},
    )
    (folder / "TELEGRAM_BOT_TOKEN").write_text(f"{token('credential')}\n")
    assert chosen(loaded(LOCAL)) == token("credential")
    file.write_text(f"# mine\n\n TELEGRAM_BOT_TOKEN = {token('descriptor')} \nUNKNOWN=of-another-program\n")
    assert chosen(loaded(LOCAL)) == token("descriptor")
    inline = loaded(f'{LOCAL}telegram.bot_token = "{token("inline")}"\n')
    assert (chosen(inline), inline.sources["telegram.bot_token"]) == (token("inline"), "file")
    everything = {token(name) for name in ("environment", "credential", "descriptor", "inline")}
    assert set(inline.secret_values()) >= everything | {"of-another-program"}


def test_the_voices_key_from_outside_wins_and_the_dsn_of_the_file(loaded: Loaded, file: Path) -> None:
    file.write_text(f"OPENAI_API_KEY=sk-from-outside\nSENTRY_DSN={DSN}\n")
    both = f'{LOCAL}voice.openai_api_key = "sk-of-the-file"\nsentry.dsn = "https://k@h/1"\n'
    settings = loaded(both)
    assert settings.voice.openai_api_key is not None
    assert settings.voice.openai_api_key.get_secret_value() == "sk-from-outside"
    assert settings.sources == {"voice.openai_api_key": "descriptor", "sentry.dsn": "file"}
    assert loaded(LOCAL).sources == {"voice.openai_api_key": "descriptor", "sentry.dsn": "descriptor"}


def test_what_is_in_effect_names_the_source_and_not_the_secret(loaded: Loaded, folder: Path) -> None:
    (folder / "MY_BOT").write_text(token("credential"))
    shown = {item.key: item for item in effective(loaded(f'{LOCAL}telegram.bot_token_env = "MY_BOT"\n'))}
    item = shown["telegram.bot_token"]
    assert (item.value, item.source) == ("(hidden)", "credential")
    assert (shown["sentry.dsn"].value, shown["sentry.dsn"].source) == (None, "default")


def test_a_file_is_read_anew_and_no_child_has_it(loaded: Loaded, file: Path) -> None:
    file.write_text(f"TELEGRAM_BOT_TOKEN={token('first')}\n")
    assert chosen(loaded(LOCAL)) == token("first")
    assert not os.get_inheritable(int(os.environ["PUSH_SECRETS_FD"]))
    file.write_text(f"TELEGRAM_BOT_TOKEN={token('second')}\n")
    assert chosen(loaded(LOCAL)) == token("second")


def test_a_file_that_was_replaced_is_no_new_one(loaded: Loaded, write: Write, file: Path, tmp_path: Path) -> None:
    file.write_text(f"TELEGRAM_BOT_TOKEN={token('first')}\n")
    loaded(LOCAL)
    fresh = tmp_path / "fresh"
    fresh.write_text(f"TELEGRAM_BOT_TOKEN={token('second')}\n")
    fresh.replace(file)
    assert "its file was replaced by another" in refused().message


def test_a_file_without_a_name_is_fine(loaded: Loaded, file: Path) -> None:
    """As shells make it of a here-document."""
    file.write_text(f"TELEGRAM_BOT_TOKEN={token('first')}\n")
    file.unlink()
    assert chosen(loaded(LOCAL)) == chosen(loaded(LOCAL)) == token("first")


def test_a_pipe_says_it_once(loaded: Loaded, pipe: int) -> None:
    os.write(pipe, f"TELEGRAM_BOT_TOKEN={token('piped')}".encode())
    os.close(pipe)
    assert chosen(loaded(LOCAL)) == chosen(loaded(LOCAL)) == token("piped")


def test_a_pipe_that_stays_open_is_not_waited_for_for_ever(
    write: Write, pipe: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_PATIENCE_SECONDS", 0.05)
    write(LOCAL)
    os.write(pipe, b"TELEGRAM_BOT_TOKEN=")
    assert "its other end was not closed" in refused().message
    os.close(pipe)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"A=sesame-sesame\nsesame street\n", "line 2: it is not NAME=value"),
        (b"A=sesame\nB=x\nA=sesame\n", "line 3: A is set a second time"),
        (b"A=\xff\xfesesame\n", "is not UTF-8"),
        (b"A=" + b"sesame" * 12_000, "is too long"),
    ],
)
def test_what_is_no_list_of_secrets_is_not_shown(write: Write, file: Path, content: bytes, said: str) -> None:
    write(LOCAL)
    file.write_bytes(content)
    error = refused()
    assert said in error.message
    assert f"descriptor {os.environ['PUSH_SECRETS_FD']}" in error.message
    assert "sesame" not in f"{error.message}{error.why}{error.hint}"


@pytest.mark.parametrize(
    ("number", "said"), [("three", "is no number"), ("-1", "is no number"), ("9999", "cannot be read")]
)
def test_a_descriptor_that_is_none(write: Write, monkeypatch: pytest.MonkeyPatch, number: str, said: str) -> None:
    write(LOCAL)
    monkeypatch.setenv("PUSH_SECRETS_FD", number)
    error = refused()
    assert said in error.message
    assert error.code == "secrets_unusable"


def test_a_descriptor_that_cannot_be_read(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(LOCAL)
    with (tmp_path / "x").open("wb") as written, Path("/dev/null").open("rb") as nothing:
        monkeypatch.setenv("PUSH_SECRETS_FD", str(written.fileno()))
        assert "Bad file descriptor" in refused().why
        monkeypatch.setenv("PUSH_SECRETS_FD", str(nothing.fileno()))
        assert "neither a file nor a pipe" in refused().message


@pytest.mark.parametrize("source", ["descriptor", "credential", "environment"])
def test_c60_a_wrong_token_names_its_source_and_shows_nothing(
    write: Write, file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    write(TELEGRAM)
    if source == "descriptor":
        file.write_text("TELEGRAM_BOT_TOKEN=sesame street\n")
    elif source == "credential":
        (folder / "TELEGRAM_BOT_TOKEN").write_text("sesame street")
    else:
        monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "sesame street")
    error = refused()
    place = {
        "descriptor": f"TELEGRAM_BOT_TOKEN in descriptor {os.environ['PUSH_SECRETS_FD']} (PUSH_SECRETS_FD)",
        "credential": f"the credential TELEGRAM_BOT_TOKEN ({folder}/TELEGRAM_BOT_TOKEN)",
        "environment": "the variable TELEGRAM_BOT_TOKEN",
    }
    assert error.message == f"{place[source]} holds a string of 13 characters that is no token"
    assert "sesame" not in error.why
    monkeypatch.delenv(error.hint.removeprefix("unset "))
    assert load().telegram.bot_token is None


def test_where_the_token_is_from_is_known(loaded: Loaded, write: Write, file: Path) -> None:
    path = write("")
    assert loaded(LOCAL).telegram.place == ""
    inline = f'{LOCAL}telegram.bot_token = "{token("inline")}"\n'
    assert loaded(inline).telegram.place == f"telegram.bot_token of {path}"
    file.write_text(f"TELEGRAM_BOT_TOKEN={token('descriptor')}\n")
    assert loaded(LOCAL).telegram.place.startswith("TELEGRAM_BOT_TOKEN in descriptor ")


def test_a_credential_that_cannot_be_read(write: Write, folder: Path) -> None:
    write(LOCAL)
    (folder / "SENTRY_DSN").mkdir()
    assert refused().message == f"cannot read the credential {folder}/SENTRY_DSN"
