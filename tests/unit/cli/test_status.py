"""`push status` for a person: a short screen, whatever is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push.cli.main import main
from push.ledger import outbox, pace, turns
from push.ledger.database import Database
from push.paths import Home
from push.tasks import roles
from tests.ledger import lives, network

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA locking_mode = EXCLUSIVE")
db.execute("UPDATE turn SET reason = NULL")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    with closing(Database.open(Home.at(home).push_db)) as database:
        yield database


def screen(capsys: pytest.CaptureFixture[str], expected: int = 0) -> list[str]:
    """The lines that `push status` prints; it ends with this exit code."""
    assert main(["status"]) == expected
    return capsys.readouterr().out.splitlines()


def report(capsys: pytest.CaptureFixture[str]) -> Any:
    """What `push status --json` prints."""
    assert main(["status", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def section(lines: list[str], title: str) -> list[str]:
    """The lines of one section."""
    begin = lines.index(title) + 1
    return [line.strip() for line in lines[begin : (*lines[begin:], "").index("") + begin]]


def test_a_home_that_is_not_there_yet(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = screen(capsys)
    assert lines[0] == f"Push in {home}"
    assert section(lines, "Processes") == ["none; start one with: push chat"]  # which needs no configuration
    assert section(lines, "Messages") == ["none yet; say something with: push chat"]
    assert "Needs attention" not in lines
    assert list(home.iterdir()) == []


def test_a_configured_home_is_started_with_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config.toml").write_text('channels = ["local"]\nagent = "command"\ncommand = ["cat"]\n')
    assert section(screen(capsys), "Processes") == ["none; start one with: push run"]


@freeze_time("2026-03-01T12:00:00Z")
def test_a_busy_home(home: Path, db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    run = Home.at(home).run
    both = [roles.take(run, "poll", "push run"), roles.take_consumer(run, "push run")]
    both[1].beat("sweep", "next in 30 s")
    lives.start(db, lives.accept(db))
    lives.accept(db)
    turns.postpone(db, lives.accept(db, lives.message("cyd")), "disk_full", 90)
    lives.answered(db, "bob")
    lines = screen(capsys)
    for role in both:
        role.close()
    pid = section(lines, "Processes")[0].split("process ")[1].split(",")[0]
    assert section(lines, "Processes") == [
        f"push run, process {pid}, for 0 s: poll, consumer-0",
        "sweep: next in 30 s (0 s ago)",
    ]
    assert section(lines, "Running") == [
        "t1  local:ann  claude  for 0 s, run 1, no process lives; a gateway will see to it"
    ]
    assert section(lines, "Messages") == [
        "2 queued, 1 running; the oldest came 0 s ago",
        "t3  local:cyd  postponed (disk_full), next try in 1 min",
    ]
    assert section(lines, "Answers") == ["1 pending; the oldest on its way was written 0 s ago", "1 for local bob"]
    assert section(lines, "Needs attention") == ["1 turn postponed.  push retries list"]


def test_channels_with_their_last_good_poll_and_pauses(
    home: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        role = roles.take(Home.at(home).run, "poll", "push run")
        role.beat("telegram", "reading as @bot")
        role.beat("telegram.good", "last good poll")
        now.tick(400)
        role.beat("telegram", "another_poller; asking again in 30 s")
        pace.pause(db, "telegram", "6", 60, "too_many_requests")
        lines = screen(capsys)
        told = report(capsys)
        role.close()
    assert section(lines, "Channels") == [
        "telegram: another_poller; asking again in 30 s; last good poll: 6 min ago",
        "deaf since 2026-03-01T12:00:00.000Z",
        "telegram chat 6 is paused (too_many_requests), goes on in 1 min",
    ]
    assert section(lines, "Processes")[1:] == []  # it is not said twice
    assert section(lines, "Needs attention") == ["telegram has not been read for 6 min.  push doctor"]
    [channel] = told["channels"]
    assert (channel["name"], channel["good_at"]) == ("telegram", "2026-03-01T12:00:00.000Z")
    assert channel["deaf_since"] == channel["good_at"]
    assert [pause["chat"] for pause in told["pauses"]] == ["6"]


def test_what_is_on_its_way_to_whom_and_what_a_person_should_see(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    network.rich(db)
    for chat in range(10, 17):
        lives.answer(db, lives.start(db, lives.accept(db, network.message(chat=str(chat)))))
    row = lives.sending(db, lives.answered(db))
    outbox.unknown(db, row, 0, "timeout", "sender")
    lives.deliver(db, outbox.get(db, row.id))
    lines = screen(capsys)
    assert "1 possibly delivered twice" in section(lines, "Answers")[0]
    assert section(lines, "Answers")[1:] == [*(f"1 for telegram {chat}" for chat in range(10, 15)), "and others"]
    assert section(lines, "Messages")[-1] == "1 that could not be stored"
    needs = section(lines, "Needs attention")
    assert any(line.startswith("1 delivery possibly arrived twice.") for line in needs)
    assert any(line.startswith("1 update could not be stored.") for line in needs)
    told = report(capsys)
    assert (told["deliveries"]["possibly_twice"], told["rejected"]) == (1, 1)
    assert told["deliveries"]["targets"][0] == {"channel": "telegram", "target": "10", "open": 1}


def test_all_is_well(home: Path, db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    lives.deliver(db, lives.answered(db))
    role = roles.take_consumer(Home.at(home).run, "push run")
    lines = screen(capsys)
    role.close()
    assert section(lines, "Messages") == ["none open"]
    assert section(lines, "Answers") == ["all out"]
    assert lines[-1] == "All is well."


def test_a_locked_ledger_is_said_at_once_and_the_rest_is_shown(
    home: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    lives.accept(db)
    db.close_thread()
    role = roles.take_consumer(Home.at(home).run, "push run")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home / "push.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    lines = screen(capsys, expected=5)
    assert main(["status", "--json"]) == 5
    told = json.loads(capsys.readouterr().out)
    holder.communicate()
    role.close()
    assert section(lines, "Processes")[0].startswith("push run")
    assert section(lines, "Needs attention")[0].startswith("The ledger cannot be read: another program holds it.")
    assert (told["turns"], told["ledger"]["ok"], told["ledger"]["code"]) == (None, False, "ledger_locked")
    assert told["processes"][0]["role"] == "consumer-0"


def test_a_damaged_state_json_does_not_fail_it(home: Path, db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    lives.deliver(db, lives.answered(db))
    (home / "state.json").write_text("{")
    assert "push doctor --fix" in section(screen(capsys), "Needs attention")[0]


def test_it_shows_no_text(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    text = "a text that only its reader may see"
    lives.answer(db, lives.start(db, lives.accept(db, lives.message("ann", text))), text)
    turns.postpone(db, lives.accept(db, lives.message("ann", text)), "disk_full", 30)
    assert text not in "\n".join(screen(capsys))
    main(["status", "--json"])
    assert text not in capsys.readouterr().out
