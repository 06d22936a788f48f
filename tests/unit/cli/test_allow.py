"""`push allow`: what lets somebody in, what does not, and who may say so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from push.agents import process
from push.cli.main import main
from push.ledger import allowlist
from push.ledger.database import Database
from push.paths import Home

CONFIG = """
channel = "telegram"
assistant_root = "assistant"

[telegram]
allow_user_ids = [31, 7]
allow_chat_ids = [-1009]
"""


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    with closing(Database.open(Home.at(home).push_db)) as database:
        yield database


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The JSON that `push allow` prints on standard output, or, where it ends with `code`, its error."""
    capsys.readouterr()
    assert main(["allow", *words, "--json"]) == code
    out, err = capsys.readouterr()
    return json.loads(err)["error"] if code else json.loads(out)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What it says to a person, on both streams."""
    capsys.readouterr()
    assert main(["allow", *words]) == 0
    return "".join(capsys.readouterr())


def audited(home: Path) -> list[dict[str, Any]]:
    """The audit's records, without their instants."""
    lines = (home / "audit.jsonl").read_text().splitlines() if (home / "audit.jsonl").exists() else []
    return [{key: value for key, value in json.loads(line).items() if key != "ts_ms"} for line in lines]


def test_an_empty_list_makes_nothing_and_teaches_how_to_find_an_id(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys) == {"version": 1, "items": [], "refusals": []}
    assert told(capsys, "list") == told(capsys)
    assert "let the person write to the bot, then: push allow list" in said(capsys)
    assert list(home.iterdir()) == []


def test_a_person_and_a_chat_are_let_in_before_there_is_any_ledger(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "add", "123", "--note", "Ann") == {
        "version": 1,
        "channel": "telegram",
        "kind": "user",
        "id": "123",
        "added": True,
    }
    assert told(capsys, "add", "123")["added"] is False
    assert told(capsys, "add", "--chat", "-1001234")["kind"] == "chat"
    items = told(capsys)["items"]
    assert [(i["kind"], i["id"], i["stands_in"], i["note"]) for i in items] == [
        ("chat", "-1001234", "command", None),
        ("user", "123", "command", "Ann"),
    ]
    assert [(r["event"], r["outcome"], r["kind"], r["target"], r["channel"]) for r in audited(home)] == [
        ("allowlist_changed", "added", "user", "123", "telegram"),
        ("allowlist_changed", "added", "user", "123", "telegram"),
        ("allowlist_changed", "added", "chat", "-1001234", "telegram"),
    ]
    assert (home / "push.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "words",
    [
        *(["123 "], [" 123"], ["@name"], ["+49171123"], ["12.5"], ["0"], ["007"], ["1_000"], ["\u0661\u0662\u0663"]),
        *([""], ["12345678901234567"], ["9999999999999999"], ["--chat", "-0"], ["--chat", "--5"], ["--chat", "@group"]),
    ],
)
def test_c62_what_is_no_id_to_the_letter_is_refused_and_the_way_to_one_is_taught(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    error = told(capsys, "add", *words, code=2)
    assert error["code"] == "usage"
    assert "let the person write to the bot" in error["why"] or "--help" in error["hint"]
    assert error["hint"] == "push allow list" or "--help" in error["hint"]
    assert list(home.iterdir()) == []


def test_a_negative_id_is_let_in_as_a_chat_only(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "add", "-1001234", code=2)["hint"] == "push allow add --chat -1001234"
    assert told(capsys, "remove", "-1001234", code=2)["hint"] == "push allow add --chat -1001234"
    assert list(home.iterdir()) == []


def test_one_who_was_let_in_is_no_longer_among_the_refused(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    allowlist.refuse(db, "telegram", {("123", "123"): 3, ("9", "-1001234"): 1})
    refusals = {item["sender"]: item for item in told(capsys)["refusals"]}
    assert (refusals["123"]["count"], refusals["123"]["hint"]) == (3, "push allow add 123")
    assert refusals["9"]["hint"] == "push allow add --chat -1001234"  # in a group, the group is what is let in
    assert "push allow add 123" in (text := said(capsys))
    assert "a command below lets one in" in text
    for refused in refusals.values():
        assert main(refused["hint"].split()[1:]) == 0  # to the letter
    assert told(capsys)["refusals"] == []
    assert {(entry.kind, entry.id) for entry in allowlist.entries(db, "telegram")} == {
        ("user", "123"),
        ("chat", "-1001234"),
    }


def test_a_running_gateway_sees_it_at_once(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """It asks the ledger at each look: what the command commits, another connection reads."""
    said(capsys, "add", "123")
    assert [entry.id for entry in allowlist.entries(db, "telegram")] == ["123"]
    assert "may write on telegram no longer" in said(capsys, "remove", "123")
    assert allowlist.entries(db, "telegram") == []


def test_what_stands_in_the_configuration_is_listed_and_taken_out_there(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text(CONFIG)
    assert [(i["kind"], i["id"], i["stands_in"]) for i in told(capsys)["items"]] == [
        ("user", "7", "config"),
        ("user", "31", "config"),
        ("chat", "-1009", "config"),
    ]
    error = told(capsys, "remove", "7", code=6)
    assert error["code"] == "in_configuration"
    assert error["why"] == f"it stands in the configuration: {home / 'config.toml'}, telegram.allow_user_ids"
    assert "telegram.allow_chat_ids" in told(capsys, "remove", "--chat", "-1009", code=6)["why"]
    assert audited(home) == []
    assert "It stands in the configuration too" in said(capsys, "add", "7")
    assert told(capsys, "remove", "7", code=6)["code"] == "in_configuration"  # the command's own entry is gone
    assert [i["stands_in"] for i in told(capsys)["items"] if i["id"] == "7"] == ["config"]


def test_whoever_was_not_let_in_by_command_cannot_be_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "remove", "5", code=1)["code"] == "not_found"
    assert list(home.iterdir()) == []
    said(capsys, "add", "--chat", "5")
    assert told(capsys, "remove", "5", code=1)["code"] == "not_found"
    assert told(capsys, "remove", "5", "--chat")["kind"] == "chat"


def test_a_channel_that_is_off_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "telegram is off so far" in said(capsys, "add", "5")
    (home / "config.toml").write_text(CONFIG)
    assert "off so far" not in said(capsys, "add", "6")


def test_a_channel_that_has_no_allowlist_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "add", "5", "--channel", "local", code=2)["code"] == "usage"


@pytest.mark.parametrize("words", [(), ("list",), ("add", "5"), ("remove", "5"), ("add", "--chat", "-5")])
def test_an_agent_lets_nobody_in(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(process, "caller_is_agent", lambda spool: spool == Home.at(home).spool)
    assert told(capsys, *words, code=6)["code"] == "caller_is_agent"
    assert list(home.iterdir()) == []


def test_a_note_that_would_steer_the_terminal_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "add", "5", "--note", "Ann \x1b[31m")
    assert "\x1b" not in said(capsys)
