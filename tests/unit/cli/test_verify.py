"""`push verify` names every stated damage (docs/reference/verify.md) and exits with 1; a sound home passes."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from push.cli.main import main
from push.ledger.database import Database
from push.model.values import Session
from push.paths import Home
from push.report.proof import prove
from push.state import StateFile
from tests.ledger import lives, network

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "verify.md"
TEXT = "a text that only its reader may see"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one of everything. Turn 1 (ann) and its delivery 1 of three parts ended well.

    From turn 20 and delivery 15 on it is Telegram's: 20 with its piece 21, 22 that was edited, the command 23 whose
    answer is delivery 15, 24 that went ahead (16), 22's answer (17), a notice (18), 25 that runs, 26 that waits.
    """
    root = tmp_path_factory.mktemp("sound")
    db = Database.open(root / "push.db")
    lives.rich(db)
    lives.deliver(db, lives.answer(db, lives.start(db, lives.accept(db, lives.message("hal", TEXT))), TEXT))
    network.rich(db)
    db.close()
    state = StateFile(root / "state.json")
    for user, session_id in (
        ("ann", "s1"),
        ("bob", "saved when its run was interrupted"),
        ("gus", "saved before its answer is committed"),
    ):
        session = Session(session_id, True, "claude", 0, "/assistant", "ab", "")
        assert state.save_session(f"local:{user}", session, expected_epoch=0)
    state.set_cursor("telegram", 9, owner=network.OWNER)
    inherited = Session("of an earlier implementation", True, "claude", 0, "", "", "")
    assert state.save_session("imessage:+4912", inherited, expected_epoch=0)
    return root


@pytest.fixture
def copied(sound: Path, home: Path) -> Path:
    """A copy of it, to damage."""
    shutil.copytree(sound, home, dirs_exist_ok=True)
    return home


@dataclass(frozen=True)
class Told:
    """What one call of the command said."""

    code: int
    damages: list[tuple[str, str]]
    answer: dict[str, object]


def ask(capsys: pytest.CaptureFixture[str]) -> Told:
    code = main(["verify", "--json"])
    printed = capsys.readouterr()
    assert TEXT not in printed.out + printed.err
    answer = json.loads(printed.out)
    return Told(code, [(damage["code"], damage["row"]) for damage in answer["items"]], answer)


def sql(home: Path, script: str) -> None:
    with closing(sqlite3.connect(home / "push.db")) as db:
        db.executescript(script)


def in_state(*path: str, value: object) -> Callable[[Path], None]:
    """Set one value of state.json."""

    def change(home: Path) -> None:
        file = home / "state.json"
        raw: Any = json.loads(file.read_text())
        place = raw
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        file.write_text(json.dumps(raw))

    return change


def no_json(home: Path) -> None:
    (home / "state.json").write_text("{")


def overwrite(home: Path, offset: int) -> None:
    with (home / "push.db").open("r+b") as file:
        file.seek(offset)
        file.write(os.urandom(64))


GONE = "DELETE FROM part WHERE outbound_id = {0}; DELETE FROM outbound WHERE id = {0};"
OF = "SELECT {0} FROM turn WHERE conversation_id = (SELECT id FROM conversation WHERE key = '{1}')"
BEGUN = """
UPDATE turn SET state = 'running', attempt = 1, agent = 'claude', work_dir = '/', epoch = 0, started_at = 1
    WHERE id = ({0});
INSERT INTO transition (machine, row_id, source, target, actor, at)
    VALUES ('turn', ({0}), 'queued', 'running', 'worker', 1);
""".format(OF.format("max(id)", "local:gus"))

#: code -> (what is done to a sound home, the row that must be named).
DAMAGES: dict[str, tuple[str | Callable[[Path], None], str]] = {
    "file_damaged": (lambda home: overwrite(home, 0), "push.db"),
    "file_integrity": ("PRAGMA ignore_check_constraints = 1; UPDATE turn SET state = 'lost' WHERE id = 1", "push.db"),
    "schema": ("DROP INDEX turn_open", "index turn_open"),
    "reference": ("DELETE FROM conversation WHERE key = 'local:ann'", "turn 1"),
    "ledger_missing": (lambda home: (home / "push.db").unlink(), "push.db"),
    "turn_missing": ("DELETE FROM turn WHERE id IN (2, 3)", "turns 2 to 3"),
    "delivery_missing": (GONE.format("(SELECT max(id) FROM outbound)"), "deliveries 18 to 18"),
    "reply_missing": (GONE.format(1), "turn 1"),
    "reply_unexpected": ("UPDATE turn SET state = 'cancelled' WHERE id = 1", "delivery 1"),
    "reply_elsewhere": ("UPDATE outbound SET target = 'mallory' WHERE id = 1", "delivery 1"),
    "reply_urgent": ("UPDATE outbound SET urgent = 0 WHERE id = 15", "delivery 15"),
    "cause_missing": ("UPDATE outbound SET turn_id = NULL WHERE id = 1", "delivery 1"),
    "history_missing": ("DELETE FROM transition WHERE machine = 'turn' AND row_id = 1", "turn 1"),
    "history_orphan": (GONE.format(1), "delivery 1"),
    "history_chain": ("DELETE FROM transition WHERE machine = 'turn' AND row_id = 1 AND target = 'running'", "turn 1"),
    "history_edge": ("UPDATE transition SET actor = 'operator' WHERE source = 'queued' AND row_id = 1", "turn 1"),
    "history_end": ("UPDATE turn SET state = 'failed' WHERE id = 1", "turn 1"),
    "turn_order": (BEGUN, "turn 18"),
    "turn_held": ("UPDATE turn SET held_at = 5 WHERE id = 1", "turn 1"),
    "turn_counts": ("UPDATE turn SET interruptions = 2 WHERE id = 3", "turn 3"),
    "turn_merged": ("UPDATE turn SET merged_into = NULL WHERE id = 21", "turn 21"),
    "turn_lane": ("UPDATE turn SET kind = 'message' WHERE id = 23", "turn 23"),
    "turn_event": ("UPDATE turn SET event_id = '' WHERE id = 1", "turn 1"),
    "turn_text": ("UPDATE turn SET text = NULL WHERE id = 1", "turn 1"),
    "turn_plan": ("UPDATE turn SET agent = NULL WHERE id = 1", "turn 1"),
    "turn_end_time": ("UPDATE turn SET finished_at = NULL WHERE id = 1", "turn 1"),
    "delivery_counts": ("UPDATE outbound SET repeat = 1 WHERE id = 1", "delivery 1"),
    "delivery_end_time": ("UPDATE outbound SET finished_at = NULL WHERE id = 1", "delivery 1"),
    "progress_elsewhere": ("UPDATE progress SET target = '6'", "progress of turn 25"),
    "delivery_held": ("UPDATE outbound SET held_at = 5 WHERE id = 1", "delivery 1"),
    "delivery_repeat": ("UPDATE part SET repeats = 1 WHERE outbound_id = 1 AND seq = 1", "delivery 1"),
    "part_receipt": ("UPDATE part SET receipt = NULL WHERE outbound_id = 1 AND seq = 1", "delivery 1"),
    "part_undelivered": (
        "UPDATE part SET receipt = NULL, delivered_at = NULL WHERE outbound_id = 1 AND seq = 2",
        "delivery 1",
    ),
    "part_nothing_left": ("UPDATE part SET receipt = 'r', delivered_at = 1 WHERE outbound_id = 8", "delivery 8"),
    "part_sequence": ("DELETE FROM part WHERE outbound_id = 1 AND seq = 1", "delivery 1"),
    "part_text": ("UPDATE part SET text = ' ' WHERE outbound_id = 1 AND seq = 1", "delivery 1"),
    "erased_early": ("UPDATE outbound SET erased_at = 1 WHERE id = 4", "delivery 4"),
    "erased_text": ("UPDATE turn SET erased_at = 1 WHERE id = 1", "turn 1"),
    "state_damaged": (no_json, "state.json"),
    "session_stranger": (
        in_state("sessions", "local:ghost", value={"uuid": "s1"}),
        "state.json, session of local:ghost",
    ),
    "session_unknown": (
        in_state("sessions", "local:ann", "uuid", value="nobody's"),
        "state.json, session of local:ann",
    ),
    "cursor_ahead": (in_state("cursors", "telegram", value=10), "state.json, cursor of telegram"),
}


@pytest.mark.parametrize("code", DAMAGES)
def test_each_damage_is_named(copied: Path, capsys: pytest.CaptureFixture[str], code: str) -> None:
    damage, row = DAMAGES[code]
    if isinstance(damage, str):
        sql(copied, damage)
    else:
        damage(copied)
    told = ask(capsys)
    assert (code, row) in told.damages
    assert (told.code, told.answer["ok"]) == (1, False)


def test_every_damage_of_the_page_is_tested() -> None:
    stated = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert len(stated) >= 12
    assert stated == list(DAMAGES)


def test_a_sound_home_passes(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ask(capsys)
    assert (told.code, told.damages) == (0, [])
    assert told.answer == {
        "version": 1,
        "ok": True,
        "checked": {"turns": 26, "deliveries": 18},
        "items": [],
        "omitted": {},
    }
    assert main(["verify"]) == 0
    assert capsys.readouterr().out == "All is accounted for: 26 turns, 18 deliveries.\n"


def test_an_emptied_ledger_is_none_and_is_not_made_anew(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copied / "state.json").unlink()
    (copied / "push.db").write_bytes(b"")
    told = ask(capsys)
    assert (told.code, told.damages) == (1, [("ledger_missing", "push.db")])
    assert (copied / "push.db").read_bytes() == b""


def test_a_home_that_is_not_there_yet_is_not_made(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys).code == 0
    assert list(home.iterdir()) == []


NEWEST_STEP = "DELETE FROM transition WHERE id = (SELECT max(id) FROM transition WHERE machine = 'outbound')"
UNCHECKED = """
PRAGMA writable_schema = 1;
UPDATE sqlite_master SET sql = replace(sql, ' CHECK (repeat IN (0, 1))', '') WHERE name = 'outbound';
"""

MORE = [
    ("the newest turns", "DELETE FROM turn WHERE id > 24", ("turn_missing", "turns 25 to 26")),
    ("the sequence", "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'turn'", ("turn_missing", "turns up to 26")),
    ("a birth", "UPDATE transition SET target = 'running' WHERE id = 1", ("history_edge", "turn 1")),
    ("two births", "UPDATE transition SET source = NULL WHERE row_id = 1", ("history_chain", "turn 1")),
    ("the newest step", NEWEST_STEP, ("history_end", "delivery 18")),
    ("a run too few", "UPDATE turn SET attempt = 0 WHERE id = 1", ("turn_counts", "turn 1")),
    ("a command that ran", "UPDATE turn SET attempt = 1 WHERE id = 2", ("turn_counts", "turn 2")),
    ("a forgotten delay", "UPDATE turn SET delays = 0 WHERE id = 3", ("turn_counts", "turn 3")),
    ("an attempt too many", "UPDATE outbound SET attempt = 9 WHERE id = 1", ("delivery_counts", "delivery 1")),
    ("a delay that was none", "UPDATE outbound SET delays = 2 WHERE id = 17", ("delivery_counts", "delivery 17")),
    ("an attempt too few", "UPDATE outbound SET attempt = 0 WHERE id = 16", ("delivery_counts", "delivery 16")),
    ("a mark that is gone", "UPDATE outbound SET repeat = 0 WHERE id = 7", ("delivery_counts", "delivery 7")),
    ("a mark of no part", "UPDATE part SET repeats = 0 WHERE outbound_id = 7", ("delivery_repeat", "delivery 7")),
    ("a notice of nothing", "UPDATE outbound SET notice = NULL WHERE id = 18", ("cause_missing", "delivery 18")),
    ("two causes", "UPDATE outbound SET notice = 'deaf' WHERE id = 1", ("cause_missing", "delivery 1")),
    ("an answer that overtakes", "UPDATE outbound SET urgent = 1 WHERE id = 1", ("reply_urgent", "delivery 1")),
    ("a notice that overtakes", "UPDATE outbound SET urgent = 1 WHERE id = 18", ("reply_urgent", "delivery 18")),
    ("a piece that is open", "UPDATE turn SET state = 'queued' WHERE id = 21", ("turn_merged", "turn 21")),
    ("a piece of another's", "UPDATE turn SET merged_into = 1 WHERE id = 21", ("turn_merged", "turn 21")),
    ("a piece of itself", "UPDATE turn SET merged_into = 21 WHERE id = 21", ("turn_merged", "turn 21")),
    ("a piece of a later one", "UPDATE turn SET merged_into = 24 WHERE id = 21", ("turn_merged", "turn 21")),
    ("a command that goes ahead", "UPDATE turn SET ahead = 1 WHERE id = 2", ("turn_lane", "turn 2")),
    ("one ahead that was not", "UPDATE turn SET ahead = 0 WHERE id = 24", ("turn_order", "turn 24")),
    ("one that overtook", "UPDATE turn SET lane = 'turns' WHERE id = 23", ("turn_order", "turn 23")),
    ("progress of nobody", "UPDATE progress SET turn_id = 99", ("reference", "progress 99")),
    ("an end too early", "UPDATE turn SET finished_at = 1 WHERE state = 'running'", ("turn_end_time", "turn 25")),
    ("an empty receipt", "UPDATE part SET receipt = '' WHERE outbound_id = 1", ("part_receipt", "delivery 1")),
    ("a receipt alone", "UPDATE part SET delivered_at = NULL WHERE outbound_id = 1", ("part_receipt", "delivery 1")),
    ("no part", "DELETE FROM part WHERE outbound_id = 1", ("part_sequence", "delivery 1")),
    (
        "the second before the first",
        "UPDATE part SET receipt = NULL, delivered_at = NULL WHERE outbound_id = 1 AND seq < 2",
        ("part_sequence", "delivery 1"),
    ),
    ("another channel", "UPDATE outbound SET channel = 'telegram' WHERE id = 1", ("reply_elsewhere", "delivery 1")),
    ("another's answer", "UPDATE outbound SET conversation_id = 3 WHERE id = 1", ("reply_elsewhere", "delivery 1")),
    ("a table", "DROP TABLE part", ("schema", "table part")),
    (
        "a trigger",
        "CREATE TRIGGER t AFTER INSERT ON turn BEGIN DELETE FROM part; END",
        ("schema", "trigger t"),
    ),
    ("a constraint", UNCHECKED, ("schema", "table outbound")),
    ("the schema's version", "PRAGMA user_version = 0", ("file_damaged", "push.db")),
]


@pytest.mark.parametrize(("script", "named"), [case[1:] for case in MORE], ids=[case[0] for case in MORE])
def test_its_variants_are_named(
    copied: Path, capsys: pytest.CaptureFixture[str], script: str, named: tuple[str, str]
) -> None:
    sql(copied, script)
    told = ask(capsys)
    assert named in told.damages
    assert told.code == 1


def test_the_rest_of_a_file_in_ruins_is_looked_at(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(copied / "push.db")) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'part'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
        db.execute("UPDATE turn SET finished_at = NULL WHERE id = 1")
        db.commit()
    overwrite(copied, (page - 1) * size)
    told = ask(capsys)
    assert {"file_damaged", "file_integrity"} & {code for code, _ in told.damages}
    assert ("turn_end_time", "turn 1") in told.damages


PREDICATE = """
PRAGMA writable_schema = 1;
UPDATE sqlite_master SET sql = replace(sql, '''{0}''', '''{1}''') WHERE name = 'turn_open';
"""


def test_an_index_that_is_not_as_its_table_is_named(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A turn that is missing in the index of the open ones would never be worked."""
    sql(copied, PREDICATE.format("running", "r"))
    sql(copied, f"UPDATE turn SET conversation_id = 1 WHERE id = ({OF.format('min(id)', 'local:gus')})")
    sql(copied, PREDICATE.format("r", "running"))
    assert ("file_integrity", "push.db") in ask(capsys).damages


def test_of_one_code_a_hundred_are_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = Database.open(Home.at(home).push_db)
    for _ in range(105):
        lives.accept(db)
    db.close()
    sql(home, "UPDATE turn SET finished_at = 1")
    told = ask(capsys)
    assert len(told.damages) == 100
    assert told.answer["omitted"] == {"turn_end_time": 5}
    assert main(["verify"]) == 1
    printed = capsys.readouterr()
    assert "turn_end_time  … and 5 more" in printed.out
    assert "105 damages" in printed.err


def test_the_terminal_has_no_cursor(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_state("cursors", "local", value=1)(copied)
    assert ask(capsys).damages == [("cursor_ahead", "state.json, cursor of local")]


@pytest.mark.parametrize(
    ("owner", "cursor", "is_sound"),
    [
        (network.OWNER, 8, True),  # a crash came before state.json was told
        (network.OWNER, 9, True),
        (network.OWNER, 10, False),
        ("another bot", 1, False),  # the ledger never read for that one
        (None, 10_000, True),  # of an earlier implementation, which named no owner
    ],
)
def test_a_cursor_is_ahead_of_what_was_stored_for_its_owner(
    copied: Path, capsys: pytest.CaptureFixture[str], owner: str | None, cursor: int, *, is_sound: bool
) -> None:
    in_state("cursors", value={"telegram": cursor})(copied)
    in_state("cursor_owner", value={"telegram": owner} if owner else {})(copied)
    assert ask(capsys).damages == ([] if is_sound else [("cursor_ahead", "state.json, cursor of telegram")])


def test_what_goes_ahead_of_others_comes_between_them_and_not_into_one(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Turn 24 (`/now`) began after turn 20, which was stopped for it, and before turn 22, which had waited longer."""
    with closing(sqlite3.connect(copied / "push.db")) as db:
        steps = "SELECT {0}(id) FROM transition WHERE machine = 'turn' AND row_id = {1}"
        [(stopped,)] = db.execute(steps.format("max", 20))
        [(begun,)] = db.execute(f"{steps.format('min', 24)} AND target = 'running'")
        assert begun > stopped
        db.execute("UPDATE transition SET id = -id WHERE id IN (?, ?)", (stopped, begun))
        db.execute("UPDATE transition SET id = ? WHERE id = ?", (begun, -stopped))
        db.execute("UPDATE transition SET id = ? WHERE id = ?", (stopped, -begun))
        db.commit()
    assert ask(capsys).damages == [("turn_order", "turn 24")]


@pytest.mark.parametrize("state", ["", "{}", '{"sessions": {"local:ann": {"uuid": "", "epoch": 3}}}'])
def test_a_conversation_without_a_session_is_sound(
    copied: Path, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    file = copied / "state.json"
    file.write_text(state) if state else file.unlink()
    assert ask(capsys).damages == []


def test_long_work_says_how_far_it_is(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("push.ledger.histories._TOLD_EVERY", 10)
    heard: list[str] = []
    prove(Home.at(copied), heard.append)
    assert heard[:5] == ["the file", "turns", "turn 10", "turn 20", "deliveries"]
    assert heard[-1] == "state.json"
