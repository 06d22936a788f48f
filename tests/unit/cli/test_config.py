"""`push config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from push.cli.main import main

TOKEN = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"
KEY = "sk-proj-abcdefghijklmnopqrstuvwx"
DSN = "https://0123456789abcdef@sentry.example.org/42"
TEXT = f"""\
channel = "telegram"
assistant_root = "assistant"
run_timeout = "90m"
[telegram]
bot_token = "{TOKEN}"
allow_user_ids = [3, 1]
[voice]
openai_api_key = "{KEY}"
[sentry]
dsn = "{DSN}"
[[routes]]
channel = "local"
agent = "pi"
"""


@pytest.fixture
def file(home: Path) -> Path:
    path = home / "config.toml"
    path.write_text(TEXT)
    return path


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["config", *words]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_path(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "path") == f"{home}/config.toml\n"
    assert answer(capsys, "path", "--config", "/elsewhere.toml") == "/elsewhere.toml\n"
    assert json.loads(answer(capsys, "path", "--json")) == {
        "version": 1,
        "path": f"{home}/config.toml",
        "exists": False,
        "home": str(home),
    }


def test_show(file: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    shown = answer(capsys, "show")
    rows = [line.split() for line in shown.splitlines()]
    assert shown.startswith(f"# {file}\n")
    for row in (
        ["channels", '["telegram"]', "file"],
        ["run_timeout", "1h", "30m", "file"],
        ["turns_workers", "32", "default"],
        ["database_path", f'"{home}/push.db"', "default"],
        ["telegram.bot_token", "(hidden)", "file"],
        ["telegram.allow_user_ids", "[1,", "3]", "file"],
        ["voice.openai_api_key", "(hidden)", "environment"],
        ["primary_delivery.channel", "-", "default"],
    ):
        assert row in rows


def test_show_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(answer(capsys, "show", "--json"))
    items = {item["key"]: (item["value"], item["source"]) for item in shown["items"]}
    assert (shown["version"], shown["path"]) == (1, str(file))
    assert items["run_timeout"] == (5400.0, "file")
    assert items["delivery.expire_after"] == (86_400.0, "default")
    assert items["sentry.dsn"] == items["voice.openai_api_key"] == ("(hidden)", "file")
    assert items["routes"] == ([{"thread": None, "channel": "local", "agent": "pi"}], "file")


def test_show_without_a_file_is_the_embedded_default(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "show").startswith("# no configuration: the embedded default\n")
    assert json.loads(answer(capsys, "show", "--json"))["path"] is None


def test_validate(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "validate") == f"{file}: valid\n"
    assert json.loads(answer(capsys, "validate", "--json")) == {"version": 1, "path": str(file), "valid": True}


def test_validate_needs_a_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"there is no configuration at {home}/config.toml" in answer(capsys, "validate", code=3)


def test_validate_names_everything(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("allow_user_ids", "allow_user_id") + "x = 1\n")
    said = answer(capsys, "validate", code=3).splitlines()
    assert said[0] == f"error: {file}:6: telegram.allow_user_id is not a setting"
    assert said[1].startswith("why: did you mean telegram.allow_user_ids?")
    assert said[2] == "next: push config schema --markdown"
    assert said[3].startswith(f"also: {file}:14: routes, item 1, x is not a setting")
    error = json.loads(answer(capsys, "validate", "--json", code=3))["error"]
    assert error["code"] == "invalid_config"
    assert error["details"] == [said[3].removeprefix("also: ")]


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(answer(capsys, "schema"))
    assert schema["properties"]["run_timeout"]["default"] == "10m"
    assert json.loads(answer(capsys, "schema", "--json")) == {"version": 1, "schema": schema}
    assert answer(capsys, "schema", "--markdown").startswith("# Configuration\n")


@pytest.mark.parametrize("words", [["path"], ["show"], ["validate"], ["schema"], ["schema", "--markdown"]])
@pytest.mark.parametrize("json_too", [[], ["--json"]])
@pytest.mark.parametrize("damage", ["", "unknown = 1\n", "\nvoice = \x00", "[telegram]\n"])
def test_no_secret_in_any_output(
    file: Path, capsys: pytest.CaptureFixture[str], words: list[str], json_too: list[str], damage: str
) -> None:
    file.write_text(TEXT + damage)
    main(["config", *words, *json_too])
    captured = capsys.readouterr()
    for part in (TOKEN[10:], KEY[8:], DSN[8:24]):
        assert part not in captured.out + captured.err
