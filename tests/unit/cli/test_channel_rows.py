"""`push retries` and `push turns` with what a network channel brings: pauses, repeats, rejected updates, pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from push.agents import process
from push.cli.main import main
from push.ledger import arrivals, outbox, pace, retries
from push.ledger.database import Database
from push.model.values import Outbound
from push.paths import Home
from push.tasks import wake
from tests.ledger import lives, network

RAW = '{"update_id": 9, "message": {"text": "a text that only its owner may see"}}'


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    with closing(Database.open(Home.at(home).push_db)) as database:
        yield database


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The JSON that a command prints on standard output, or, where it ends with `code`, its error."""
    capsys.readouterr()
    assert main([*words, "--json"]) == code
    out, err = capsys.readouterr()
    return json.loads(err)["error"] if code else json.loads(out)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says to a person, on both streams."""
    capsys.readouterr()
    assert main(words) == 0
    return "".join(capsys.readouterr())


def delivery(db: Database, target: str = "5") -> Outbound:
    """One to a chat of Telegram, which has begun to be sent."""
    return lives.sending(db, lives.answer(db, lives.start(db, lives.accept(db, network.message(chat=target)))))


def test_an_expired_and_a_refused_delivery_are_listed_with_their_next_command(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    for reason in ("expired", "chat_migrated:-1001234"):
        outbox.end(db, delivery(db), "failed", reason)
    items = told(capsys, "retries", "list")["items"]
    assert [(item["id"], item["reason"], item["hint"], item["attempt"], item["max_attempts"]) for item in items] == [
        ("d2", "chat_migrated:-1001234", "push allow add --chat -1001234", 1, 3),
        ("d1", "expired", "push retries now d1", 1, 3),
    ]
    assert items[0]["conversation"] == "telegram:dm:5"


def test_a_delivery_to_a_chat_wakes_the_sweep_and_not_the_terminals(
    home: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    row = delivery(db)
    outbox.end(db, row, "failed", "bot_blocked")
    terminal, sweep = (wake.Listener(Home.at(home).run, name, 0.05) for name in ("terminal.abc", "sweep"))
    assert told(capsys, "retries", "now", f"d{row.id}")["heard"] is True
    assert (sweep.wait(), terminal.wait()) == (True, False)
    terminal.close()
    sweep.close()
    assert outbox.get(db, row.id).state == "waiting"
    assert said(capsys, "retries", "now", f"d{row.id}") == f"d{row.id} is due as soon as a gateway runs.\n"


@pytest.mark.parametrize(("key", "holds"), [("5", True), ("", True), ("6", False)])
def test_a_paused_chat_is_shown_and_left_in_peace(
    db: Database, capsys: pytest.CaptureFixture[str], key: str, *, holds: bool
) -> None:
    row = delivery(db, "5:12")
    outbox.end(db, row, "failed", "expired")
    pace.pause(db, "telegram", key, 90, "too_many_requests")
    until = pace.pauses(db)[0].until
    [pause] = told(capsys, "retries", "list")["pauses"]
    assert (pause["channel"], pause["chat"], pause["reason"]) == ("telegram", key or None, "too_many_requests")
    assert "is paused (too_many_requests), goes on in 1 min." in said(capsys, "retries", "list")
    answer = told(capsys, "retries", "now", f"d{row.id}")
    assert answer["paused_until"] == (pause["until"] if holds else None)
    assert ("when its chat's pause ends" in said(capsys, "retries", "now", f"d{row.id}")) is holds
    assert pace.pauses(db)[0].until == until  # no early retry


def test_one_that_possibly_arrived_twice_is_listed_until_seen(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    row = delivery(db)
    outbox.unknown(db, row, 0, "timeout", "sender")
    lives.deliver(db, outbox.get(db, row.id))
    [item] = told(capsys, "retries", "list")["items"]
    assert (item["state"], item["reason"], item["hint"]) == ("delivered", "possibly_twice", "push retries drop d1")
    assert told(capsys, "retries", "show", "d1")["delivery"]["parts"][0]["repeats"] == 1
    assert told(capsys, "retries", "now", "d1", code=6)["code"] == "row_ended"
    told(capsys, "retries", "drop", "d1")
    assert told(capsys, "retries", "list")["items"] == []
    assert told(capsys, "retries", "drop", "d1", code=6)["why"] == "it is no longer listed"
    assert told(capsys, "retries", "show", "d1")["delivery"]["dismissed_at"] is not None


def test_a_rejected_update_is_listed_shown_and_dismissed(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    arrivals.reject(db, network.reading(9), RAW, "malformed")
    listed = told(capsys, "retries", "list")
    assert [(item["kind"], item["id"], item["conversation"], item["channel"]) for item in listed["items"]] == [
        ("rejected", "x1", None, "telegram")
    ]
    assert "only its owner" not in json.dumps(listed) + said(capsys, "retries", "list")
    assert told(capsys, "retries", "now", "x1", code=6)["hint"] == "push retries show x1"
    assert told(capsys, "retries", "show", "x1")["rejected"]["raw"] == RAW
    assert RAW in said(capsys, "retries", "show", "x1")
    assert told(capsys, "retries", "drop", "x1") == {"version": 1, "kind": "rejected", "id": "x1"}
    assert told(capsys, "retries", "list")["items"] == []
    assert told(capsys, "retries", "drop", "x1", code=6)["why"] == "it is no longer listed"


def test_an_agent_does_not_see_what_was_rejected(
    db: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrivals.reject(db, network.reading(9), RAW, "malformed")
    monkeypatch.setattr(process, "caller_is_agent", lambda _spool: True)
    assert told(capsys, "retries", "show", "x1", code=6)["code"] == "caller_is_agent"


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("x1", "Take x1 of telegram off the list?"),
        ("d1", "Take d1 of telegram:dm:5 off the list?"),
    ],
)
def test_what_only_leaves_the_list_is_asked_as_such(db: Database, name: str, question: str) -> None:
    from push.cli.retries import _question

    arrivals.reject(db, network.reading(9), RAW, "malformed")
    row = delivery(db)
    outbox.unknown(db, row, 0, "timeout", "sender")
    lives.deliver(db, outbox.get(db, row.id))
    found = retries.find(db, "rejected" if name == "x1" else "delivery", 1)
    assert found is not None
    assert _question(found) == question


def test_a_turn_is_shown_with_its_pieces_its_context_and_its_earlier_texts(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    network.rich(db)
    whole = told(capsys, "turns", "show", "1")["turn"]
    assert (whole["context"], whole["pieces"]) == ("> quoted", [{"turn": 2, "text": "the rest"}])
    for_a_person = said(capsys, "turns", "show", "1")
    assert "In answer to:\n> quoted\n" in for_a_person
    assert "Its rest, turn 2:\nthe rest\n" in for_a_person
    assert "piece of  turn 1" in said(capsys, "turns", "show", "2")
    edited = told(capsys, "turns", "show", "3")["turn"]
    assert (edited["text"], [item["text"] for item in edited["earlier"]]) == ("right", ["wrong"])
    assert "Before it was edited at " in said(capsys, "turns", "show", "3")
    assert told(capsys, "turns", "show", "4")["turn"]["reply"]["urgent"] is True
    assert "lane      control" in said(capsys, "turns", "show", "4")
    assert "lane      turns, ahead of others" in said(capsys, "turns", "show", "5")
    assert told(capsys, "retries", "show", "d4")["delivery"]["notice"] == "deaf"
    assert "notice    deaf" in said(capsys, "retries", "show", "d4")
