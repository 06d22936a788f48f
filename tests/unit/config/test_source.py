"""Files that cannot be read, and text that is not TOML."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from push.config import load, load_or_default
from push.errors import ConfigError


def refusal(path: Path | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert caught.value.exit_code == 3
    return caught.value


def test_c65_a_missing_file(home: Path) -> None:
    error = refusal()
    assert error.message == f"there is no configuration at {home}/config.toml"
    assert error.code == "config_missing"
    assert error.hint


def test_a_missing_explicit_file_is_an_error_even_where_a_default_would_do(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no configuration at .*other\.toml"):
        load_or_default(home / "other.toml")


def test_a_dangling_link_is_not_missing(home: Path) -> None:
    (home / "config.toml").symlink_to(home / "gone.toml")
    assert "target does not exist" in refusal().why
    with pytest.raises(ConfigError, match="cannot read"):
        load_or_default()


def test_a_folder(home: Path) -> None:
    assert refusal(home).why == "it is a folder"


def test_a_pipe_is_not_waited_for(home: Path) -> None:
    os.mkfifo(home / "config.toml")
    assert refusal().why == "it is not a regular file"


def test_an_unreadable_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = Path.open

    def refuse(self: Path, mode: str = "r") -> object:  # root, who runs some CI, could read any file
        if self.name == "config.toml":
            raise PermissionError(13, "Permission denied")
        return really(self, mode)

    (home / "config.toml").touch()
    monkeypatch.setattr(Path, "open", refuse)
    assert refusal().why == "Permission denied"


def test_a_home_that_is_a_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("PUSH_HOME", str(home / "file"))
    assert refusal().why == "Not a directory"


def test_a_file_that_is_too_large(home: Path) -> None:
    (home / "config.toml").write_bytes(b"#" * 2_000_000)
    assert "more than" in refusal().why


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b'\xef\xbb\xbfchannel = "local"\n', ":1:1:", "the file begins with a byte order mark"),
        ('channel = "local"\n'.encode("utf-16"), ":1:1:", "the file is UTF-16"),
        (b'# ok\nagent = "\xe9"\n', ":2:10:", "the file is not UTF-8 here"),
        (b"# \xc3\xa9\n# \xc3\xa9\xff\n", ":2:4:", "the file is not UTF-8 here"),
        (b'agent = "pi\nchannel = "local"\n', ":1:12:", "no closing quote"),
        (b'agent = "pi"\nagent = "pi"\n', ":2:13:", "set a second time"),
        (b'agent = \x0b"pi"\n', ":1:9:", "invalid value"),
        (b"agent =", ":1:8:", "invalid value"),
        (b"a\n= 1", ":1:2:", "expected '='"),
        (b"n = " + b"9" * 5000, ":1:5005:", "a number is too long"),
        (b"n = " + b"[" * 5000, ":1:1:", "nested too deeply"),
        (b'agent = """\n', ":2:1:", "unterminated"),
    ],
)
def test_what_is_not_toml_is_told_with_line_and_column(home: Path, data: bytes, place: str, message: str) -> None:
    path = home / "config.toml"
    path.write_bytes(data)
    error = refusal()
    assert error.message.startswith(f"{path}{place} ")
    assert message in error.message
    assert error.why


def test_windows_line_ends(home: Path) -> None:
    (home / "config.toml").write_bytes(b'channel = "local"\r\nagnt = 1\r\n')
    assert ":2: agnt" in refusal().message


def test_a_path_with_blanks_is_quoted_in_the_next_command(home: Path) -> None:
    path = home / "my config.toml"
    path.write_text("x = 1\n")
    assert refusal(path).hint.endswith(f"push config validate --config '{path}'")


def test_a_missing_file_names_the_command_that_makes_it(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load()
    assert caught.value.hint == "push init"
    assert "`push chat`" in caught.value.why
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "my config.toml")
    assert caught.value.hint == f"push init --config '{tmp_path}/my config.toml'"
