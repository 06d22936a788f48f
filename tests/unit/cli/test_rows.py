"""`push turns`, `conversations` and `retries`: what they show, what they do, and how they say no."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push.cli.main import main
from push.ledger import outbox, turns
from push.ledger.database import Database
from push.paths import Home
from push.tasks import wake
from tests.ledger import lives

TEXT = "a text that only its reader may see"
NOON = "2026-03-01T12:00:00.000Z"


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    """The home's ledger: two delivered turns of ann, a failed one of bob, one of cyd that waits."""
    with freeze_time(NOON), closing(Database.open(Home.at(home).push_db)) as database:
        for _ in range(2):
            turn = lives.accept(database, lives.message("ann", TEXT))
            lives.deliver(database, lives.answer(database, lives.start(database, turn), TEXT, " and more"))
        lives.deliver(database, lives.fail(database, lives.accept(database, lives.message("bob", TEXT)), "no_agent"))
        turns.postpone(database, lives.accept(database, lives.message("cyd", TEXT)), "disk_full", 30)
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

    @property
    def error(self) -> Any:
        """The error on standard error."""
        return json.loads(self.err)["error"]


LISTS = [("turns", "list"), ("conversations", "list"), ("retries", "list")]


@pytest.mark.parametrize("words", LISTS)
def test_without_a_ledger_a_list_is_empty_and_nothing_is_made(
    home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert Said(capsys, *words, "--json").json["items"] == []
    told = Said(capsys, *words)
    assert (told.code, told.out) == (0, "")
    assert told.err.endswith("\n")
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("words", LISTS)
def test_a_list_shows_no_text(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    for more in ((), ("--json",)):
        told = Said(capsys, *words, *more)
        assert told.code == 0
        assert "ann" in told.out or words[0] == "retries"
        assert TEXT not in told.out + told.err


@pytest.mark.usefixtures("db")
def test_the_items_of_turns_have_the_documented_fields(capsys: pytest.CaptureFixture[str]) -> None:
    items = Said(capsys, "turns", "list", "--json").json["items"]
    assert [item["id"] for item in items] == [4, 3, 2, 1]
    assert items[3] == {
        "id": 1,
        "conversation": "local:ann",
        "state": "answered",
        "queued_at": NOON,
        "started_at": NOON,
        "finished_at": NOON,
        "agent": "claude",
        "session_id": "s1",
    }


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--limit", "1"), [4]),
        (("--before", "3"), [2, 1]),
        (("--conversation", "local:ann"), [2, 1]),
        (("--state", "open"), [4]),
        (("--state", "failed"), [3]),
        (("--state", "answered", "--limit", "1"), [2]),
    ],
)
def test_turns_are_chosen(capsys: pytest.CaptureFixture[str], options: tuple[str, ...], expected: list[int]) -> None:
    items = Said(capsys, "turns", "list", "--json", *options).json["items"]
    assert [item["id"] for item in items] == expected


@pytest.mark.usefixtures("db")
def test_a_table_of_turns(capsys: pytest.CaptureFixture[str]) -> None:
    header, newest, *_ = Said(capsys, "turns", "list").out.splitlines()
    assert header.split() == ["ID", "CONVERSATION", "STATE", "QUEUED", "TOOK", "AGENT"]
    assert newest.split() == ["4", "local:cyd", "queued", "0", "s", "ago", "-", "-"]


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("name", ["1", "t1"])
def test_a_turn_is_shown_with_its_texts(capsys: pytest.CaptureFixture[str], name: str) -> None:
    shown = Said(capsys, "turns", "show", name, "--json").json["turn"]
    assert (shown["text"], shown["state"], shown["cost_usd"]) == (TEXT, "answered", 0.01)
    assert [step["target"] for step in shown["history"]] == ["queued", "running", "answered"]
    assert [part["text"] for part in shown["reply"]["parts"]] == [TEXT, " and more"]
    assert [part["receipt"] for part in shown["reply"]["parts"]] == ["r1.0", "r1.1"]
    for_a_person = Said(capsys, "turns", "show", name).out
    assert for_a_person.startswith("Turn 1, local:ann: answered\n")
    assert f"Message:\n{TEXT}\n" in for_a_person
    assert "2 of 2 delivered" in for_a_person


@pytest.mark.usefixtures("db")
def test_what_failed_is_shown_with_its_reason_and_detail(capsys: pytest.CaptureFixture[str]) -> None:
    told = Said(capsys, "turns", "show", "3").out
    assert told.startswith("Turn 3, local:bob: failed (no_agent)\n")
    assert "exit code 1" in told


def test_a_text_that_is_no_longer_kept_is_said_to_be_so(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    with db.write():
        db.execute("UPDATE turn SET text = NULL")
    assert "(erased)" in Said(capsys, "turns", "show", "1").out
    assert Said(capsys, "conversations", "show", "local:bob").out.count("(erased)") == 1


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("turns", "show", "99"), 1, "not_found"),
        (("turns", "cancel", "99"), 1, "not_found"),
        (("conversations", "show", "local:eve"), 1, "not_found"),
        (("retries", "show", "t99"), 1, "not_found"),
        (("retries", "show", "d99"), 1, "not_found"),
        (("retries", "now", "d99"), 1, "not_found"),
        (("retries", "drop", "t99"), 1, "not_found"),
        (("retries", "show", "x99"), 1, "not_found"),
        (("retries", "now", "x99"), 1, "not_found"),
        (("retries", "drop", "x99"), 1, "not_found"),
        (("turns", "show", "d1"), 2, "usage"),
        (("turns", "show", "x1"), 2, "usage"),
        (("turns", "show", "-"), 2, "usage"),
        (("turns", "list", "--state", "lost"), 2, "usage"),
        (("turns", "list", "--limit", "0"), 2, "usage"),
        (("retries", "now", "1"), 2, "usage"),
        (("retries", "drop", "y1"), 2, "usage"),
        (("retries", "show", "t0"), 2, "usage"),
        (("turns", "cancel", "1"), 6, "turn_ended"),
        (("retries", "now", "t3"), 6, "turn_ended"),
        (("retries", "now", "t1"), 6, "turn_ended"),
        (("retries", "now", "d1"), 6, "row_ended"),
        (("retries", "drop", "d1", "--yes"), 6, "row_ended"),
        (("retries", "drop", "t1", "--yes"), 6, "row_ended"),
    ],
)
def test_it_says_no(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, kind: str) -> None:
    told = Said(capsys, *words, "--json")
    assert (told.code, told.out) == (code, "")
    assert told.error["code"] == kind
    assert told.error["hint"]
    for_a_person = Said(capsys, *words)
    assert for_a_person.code == code
    assert for_a_person.err.startswith("error: ")


@pytest.mark.parametrize("words", [("turns", "show", "1"), ("retries", "now", "t1"), ("conversations", "show", "a:b")])
def test_without_a_ledger_nothing_is_found(
    home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert Said(capsys, *words).code == 1
    assert list(home.iterdir()) == []


def test_a_newer_ledger_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Database.open(home / "push.db").close()
    with closing(sqlite3.connect(home / "push.db")) as raw:
        raw.execute("PRAGMA user_version = 99")
    for words in (*LISTS, ("status",), ("verify",), ("turns", "cancel", "1")):
        told = Said(capsys, *words, "--json")
        assert (told.code, told.error["code"]) == (4, "schema_newer")


# -- retries ---------------------------------------------------------------------------------------------------------


def troubled(db: Database, state: str) -> int:
    """A delivery that failed or may have arrived."""
    row = lives.answered(db, "dan", TEXT)
    outbox.end(db, lives.sending(db, row), state, "blocked")
    return row.id


def test_the_items_of_retries_have_the_documented_fields(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    turns.delay(db, lives.start(db, lives.accept(db, lives.message("eve"))), "in_use", 60)
    unknown = troubled(db, "unknown")
    items = {item["id"]: item for item in Said(capsys, "retries", "list", "--json").json["items"]}
    assert items["t4"] == {
        "kind": "turn",
        "id": "t4",
        "state": "queued",
        "attempt": 0,
        "max_attempts": None,
        "next_attempt_at": "2026-03-01T12:00:30.000Z",
        "reason": "disk_full",
        "hint": "push doctor --fix",
        "conversation": "local:cyd",
        "channel": "local",
    }
    assert (items["t5"]["attempt"], items["t5"]["max_attempts"], items["t5"]["state"]) == (1, 10, "waiting")
    assert (items["t3"]["reason"], items["t3"]["hint"]) == ("no_agent", "push doctor")
    assert (items[f"d{unknown}"]["kind"], items[f"d{unknown}"]["reason"]) == ("delivery", "blocked")
    assert list(items) == ["t4", "t5", f"d{unknown}", "t3"]


def test_a_table_of_retries(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    told = Said(capsys, "retries", "list")
    header, first, *_ = told.out.splitlines()
    assert header.split("  ")[0] == "ID"
    assert first.split()[:3] == ["t4", "queued", "disk_full"]
    assert "in 30 s" in first
    assert told.err == "What failed stays listed until: push retries drop ID\n"
    Said(capsys, "retries", "drop", "t3")
    assert Said(capsys, "retries", "list").err == ""


def test_a_delivery_is_shown(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    number = troubled(db, "unknown")
    shown = Said(capsys, "retries", "show", f"d{number}", "--json").json["delivery"]
    assert (shown["state"], shown["parts"][0]["text"], shown["turn"]) == ("unknown", TEXT, 5)
    assert TEXT in Said(capsys, "retries", "show", f"d{number}").out
    assert Said(capsys, "retries", "show", "t3", "--json").json["turn"]["id"] == 3
    assert "Turn 3" in Said(capsys, "retries", "show", "t3").out


def test_a_turn_is_made_due_and_the_sweep_is_woken(
    home: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Said(capsys, "retries", "now", "t4").out == "t4 is due as soon as a gateway runs.\n"
    assert lives.now(db, 4).not_before is None
    sweep = wake.Listener(Home.at(home).run, "sweep", 5.0)
    assert Said(capsys, "retries", "now", "t4", "--json").json["heard"] is True
    assert sweep.wait()
    sweep.close()


@pytest.mark.parametrize("state", ["failed", "unknown"])
def test_a_delivery_is_sent_again_and_terminals_are_woken(
    home: Path, db: Database, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    number = troubled(db, state)
    terminal = wake.Listener(Home.at(home).run, "terminal.abc", 5.0)
    assert Said(capsys, "retries", "now", f"d{number}").out == f"d{number} is due now.\n"
    assert terminal.wait()
    terminal.close()
    assert outbox.get(db, number).state == "waiting"


@pytest.mark.parametrize("state", ["failed", "unknown"])
def test_a_delivery_is_given_up(db: Database, capsys: pytest.CaptureFixture[str], state: str) -> None:
    number = troubled(db, state)
    assert (
        Said(capsys, "retries", "drop", f"d{number}").out == f"d{number} is given up.\n"
    )  # no terminal: nobody to ask
    assert outbox.get(db, number).state == "dropped"
    assert f"d{number}" not in Said(capsys, "retries", "list").out


def test_one_that_is_being_sent_is_left_alone(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    row = lives.sending(db, lives.answered(db, "dan"))
    for wish in ("now", "drop"):
        told = Said(capsys, "retries", wish, f"d{row.id}", "--json")
        assert (told.code, told.error["why"]) == (6, "it is being sent at this very moment")
    assert outbox.get(db, row.id).state == "sending"


def test_a_turn_that_waits_is_cancelled_and_a_failed_one_leaves_the_list(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Said(capsys, "retries", "drop", "t4", "--json").json == {"version": 1, "kind": "turn", "id": "t4"}
    assert lives.now(db, 4).state == "cancelled"
    assert Said(capsys, "retries", "drop", "t3").out == "t3 is no longer listed.\n"
    assert lives.now(db, 3).state == "failed"
    assert Said(capsys, "retries", "list").out == ""


@pytest.mark.parametrize(("answer", "state"), [("n", "queued"), ("y", "cancelled")])
def test_at_a_terminal_it_asks_first(
    db: Database,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    state: str,
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked = []

    def ask(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr("click.termui.visible_prompt_func", ask)
    told = Said(capsys, "retries", "drop", "t4")
    assert (told.code, lives.now(db, 4).state) == (0, state)
    assert told.err == ("Nothing was changed.\n" if answer == "n" else "")
    assert asked == ["Give up t4 of local:cyd, so that it gets no answer? [y/N]: "]
    assert Said(capsys, "retries", "drop", "t4", "--yes").code == (0 if answer == "n" else 6)


# -- cancelling ------------------------------------------------------------------------------------------------------


def test_a_message_that_waits_is_cancelled_at_once(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    assert Said(capsys, "turns", "cancel", "t4", "--json").json == {"version": 1, "turn": 4, "state": "cancelled"}
    assert lives.now(db, 4).state == "cancelled"


@pytest.mark.parametrize("words", [("turns", "cancel", "t4"), ("retries", "drop", "t4")])
def test_the_sweep_rings_for_what_waits_behind_it(
    db: Database, home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    sweep = wake.Listener(home / "run", "sweep", 0.05)
    assert Said(capsys, *words).code == 0
    assert sweep.wait()
    sweep.close()


def test_one_that_the_agent_put_off_is_cancelled_too(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    turn = lives.start(db, lives.accept(db, lives.message("eve")))
    turns.delay(db, turn, "in_use", 60)
    assert Said(capsys, "turns", "cancel", str(turn.id)).out == f"Turn {turn.id} is cancelled.\n"
