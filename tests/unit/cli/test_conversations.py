"""`push conversations`: who talks with the assistant, what was said, and what was chosen for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push.agents import process
from push.cli.main import main
from push.ledger import choices, conversations
from push.ledger.database import Database
from push.model.values import Session
from push.paths import Home
from push.state import StateFile
from tests.ledger import lives

TEXT = "a text that only its reader may see"
NOON = "2026-03-01T12:00:00.000Z"


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    """The home's ledger: two delivered turns of ann, a failed one of bob, one of cyd that is open."""
    with freeze_time(NOON), closing(Database.open(Home.at(home).push_db)) as database:
        for _ in range(2):
            turn = lives.accept(database, lives.message("ann", TEXT))
            lives.deliver(database, lives.answer(database, lives.start(database, turn), TEXT, " and more"))
        lives.deliver(database, lives.fail(database, lives.accept(database, lives.message("bob", TEXT)), "no_agent"))
        lives.accept(database, lives.message("cyd", TEXT))
        yield database


class Said:
    """What one call of `push` printed, and its exit code."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: str) -> None:
        capsys.readouterr()
        self.code = main(words)
        self.out, self.err = capsys.readouterr()

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        return json.loads(self.out)


def test_a_conversation_is_shown_with_its_session_and_texts(
    home: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session("s1", True, "claude", 0, "/assistant", "ab", "")
    with freeze_time(NOON):
        assert StateFile(home / "state.json").save_session("local:ann", session, expected_epoch=0)
    told = Said(capsys, "conversations", "show", "local:ann", "--limit", "1", "--json").json
    assert told["conversation"] == {
        "conversation": "local:ann",
        "channel": "local",
        "created_at": NOON,
        "last_at": NOON,
        "last_turn": 2,
        "open": 0,
        "agent": None,
        "model": None,
        "paused_at": None,
        "session": {"id": "s1", "agent": "claude", "epoch": 0, "work_dir": "/assistant", "used_on": "2026-03-01"},
    }
    assert told["items"] == [
        {"turn": 2, "role": "user", "state": "answered", "at": NOON, "text": TEXT},
        {"turn": 2, "role": "assistant", "state": "delivered", "at": NOON, "text": f"{TEXT} and more"},
    ]
    for_a_person = Said(capsys, "conversations", "show", "local:ann").out
    assert "session s1 of claude" in for_a_person
    assert for_a_person.count(TEXT) == 4


@pytest.mark.usefixtures("db")
def test_a_conversation_is_shown_without_a_state_json_that_can_be_read(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "state.json").write_text("{")
    told = Said(capsys, "conversations", "show", "local:ann", "--json")
    assert (told.code, told.json["conversation"]["session"]) == (0, None)
    assert "state.json is damaged" in told.err


def test_the_items_of_conversations(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    items = Said(capsys, "conversations", "list", "--json").json["items"]
    assert [(item["conversation"], item["last_turn"], item["open"]) for item in items] == [
        ("local:cyd", 4, 1),
        ("local:bob", 3, 0),
        ("local:ann", 2, 0),
    ]
    assert Said(capsys, "conversations", "list").out.splitlines()[1].split() == [
        "local:cyd",
        "0",
        "s",
        "ago",
        "4",
        "1",
        "-",
    ]


def test_what_was_chosen_for_a_conversation_is_shown(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    choices.choose(db, 1, choices.Choice("codex", "o9"))
    told = Said(capsys, "conversations", "show", "local:ann", "--json").json["conversation"]
    assert (told["agent"], told["model"]) == ("codex", "o9")
    assert "chosen for it: agent codex, model o9" in Said(capsys, "conversations", "show", "local:ann").out
    assert "chosen" not in Said(capsys, "conversations", "show", "local:bob").out


def test_one_is_paused_and_resumed(home: Path, db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    told = Said(capsys, "conversations", "pause", "local:cyd")
    assert told.out == "local:cyd is paused. To go on: push conversations resume local:cyd\n"
    assert Said(capsys, "conversations", "pause", "local:cyd", "--json").json["changed"] is False
    assert "paused since" in Said(capsys, "conversations", "show", "local:cyd").out
    [item] = Said(capsys, "retries", "list", "--json").json["items"][:1]
    assert (item["id"], item["reason"], item["hint"]) == ("t4", "paused", "push conversations resume local:cyd")
    refused = Said(capsys, "retries", "now", "t4")
    assert refused.code == 6
    assert "next: push conversations resume local:cyd" in refused.err
    state = Said(capsys, "status").out
    assert "local:cyd  paused 0 s ago, 1 waiting" in state
    assert "local:cyd is paused; 1 waiting. " in state
    assert "  push conversations resume local:cyd\n" in state
    assert Said(capsys, "status", "--json").json["paused"][0]["waiting"] == 1
    assert Said(capsys, "conversations", "resume", "local:cyd").out == "local:cyd goes on as soon as a gateway runs.\n"
    assert Said(capsys, "conversations", "resume", "local:cyd").out == "local:cyd was not paused.\n"
    records = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    assert [(record["event"], record["outcome"], record["thread"]) for record in records] == [
        ("conversation_changed", "paused", "local:cyd"),
        ("conversation_changed", "resumed", "local:cyd"),
    ]


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("verb", ["pause", "resume", "show"])
def test_a_name_that_is_none_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    near = Said(capsys, "conversations", verb, "local:an")
    assert near.code == 1
    assert f"next: push conversations {verb} local:ann" in near.err
    assert "next: push conversations list" in Said(capsys, "conversations", verb, "somebody").err


def test_an_agent_neither_pauses_nor_resumes(
    db: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "caller_is_agent", lambda _spool: True)
    for verb in ("pause", "resume"):
        told = Said(capsys, "conversations", verb, "local:ann")
        assert (told.code, "an agent's run cannot" in told.err) == (6, True)
    assert conversations.paused(db) == []
