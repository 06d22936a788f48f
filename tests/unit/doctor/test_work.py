"""What stands still, and the files under it: rows that wait for hours, a WAL that a reader keeps, a clock set back."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from freezegun import freeze_time

from push.agents import process
from push.cli.main import main
from push.doctor import ledger
from push.ledger import held, outbox, turns
from push.ledger.database import Database
from push.paths import Home
from push.tasks import roles
from tests.ledger import lives, network

_READER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN")
db.execute("SELECT count(*) FROM turn").fetchone()
print("reading", flush=True)
sys.stdin.read()
"""

_LOCKER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA locking_mode = EXCLUSIVE")
db.execute("BEGIN EXCLUSIVE")
print("reading", flush=True)
sys.stdin.read()
"""


def other_process(script: str, path: Path) -> subprocess.Popen[str]:
    """A process that keeps push.db until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    return process


class Ward:
    """A home with a ledger."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = Home.at(home)
        self._capsys = capsys
        (home / "assistant").mkdir(mode=0o700)
        (home / "assistant" / "SOUL.md").write_text("Be kind.")
        config = home / "config.toml"
        config.write_text('channel = "local"\nassistant_root = "assistant"\nagent = "command"\ncommand = ["cat"]\n')
        config.chmod(0o600)

    @contextmanager
    def db(self) -> Iterator[Database]:
        with closing(Database.open(self.home.push_db)) as db:
            yield db

    def ask(self, check: str, *arguments: str) -> list[tuple[str, str, str]]:
        """(code, message, hint) of the findings of a check."""
        main(["doctor", "--json", *arguments])
        items = json.loads(self._capsys.readouterr().out)["items"]
        return [(item["code"], item["message"], item["hint"]) for item in items if item["check"] == check]


@pytest.fixture
def ward(home: Path, capsys: pytest.CaptureFixture[str]) -> Ward:
    return Ward(home, capsys)


def test_messages_that_wait_for_an_hour_are_told_by_what_helps(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    with freeze_time("2026-03-01T12:00:00Z"), ward.db() as db:
        first = lives.accept(db, lives.message("ann"))
        lives.accept(db, lives.message("ann", "and more"))
        lives.start(db, first)
    with freeze_time("2026-03-01T12:59:00Z"):
        assert ward.ask("turns") == []
    with freeze_time("2026-03-01T13:01:00Z"):
        [(code, message, hint)] = ward.ask("turns")
        assert (code, hint) == ("nothing_answers", "push consumer --drain")
        assert "2 messages have been open for an hour" in message

        role = roles.take_consumer(ward.home.run, "push run")
        assert ward.ask("turns")[0][::2] == ("turn_stuck", "push turns show t1")
        monkeypatch.setattr(process, "living_runner", lambda _spool: 1)
        assert ward.ask("turns") == []  # an agent may work for hours, and others wait behind it
        role.close()


def test_a_message_that_is_put_off_for_hours_can_be_tried_now(ward: Ward) -> None:
    with freeze_time("2026-03-01T12:00:00Z"), ward.db() as db:
        turns.postpone(db, lives.accept(db), "disk_full", 4 * 3600.0)
    with freeze_time("2026-03-01T13:01:00Z"):
        role = roles.take_consumer(ward.home.run, "push run")
        assert ward.ask("turns")[0][::2] == ("turn_postponed", "push retries now t1")
        role.close()


def test_answers_that_wait_failed_or_may_have_arrived(ward: Ward) -> None:
    with freeze_time("2026-03-01T12:00:00Z"), ward.db() as db:
        for state in ("failed", "unknown"):
            row = lives.answer(db, lives.start(db, lives.accept(db, network.message())))
            outbox.end(db, lives.sending(db, row), state, "bot_blocked")
        lives.answer(db, lives.start(db, lives.accept(db, network.message())))
    with freeze_time("2026-03-01T13:01:00Z"):
        assert [found[::2] for found in ward.ask("deliveries")] == [
            ("delivery_failed", "push retries list"),
            ("delivery_unknown", "push retries list"),
            ("delivery_waits", "push retries now d3"),
        ]


def test_what_a_restored_copy_holds_back_is_told_once(ward: Ward) -> None:
    with ward.db() as db:
        lives.accept(db, lives.message("ann"))
        lives.answer(db, lives.start(db, lives.accept(db, network.message())))
        held.hold_everything(db)
    [(code, message, hint)] = ward.ask("held")
    assert (code, message.startswith("1 messages and 1 answers")) == ("held", True)
    assert hint.startswith("push retries now ")
    assert ward.ask("deliveries") == []
    assert ward.ask("turns") == []


def test_c17_a_clock_that_was_set_back_is_seen_in_the_ledger(ward: Ward) -> None:
    with freeze_time("2026-03-01T13:10:00Z"), ward.db() as db:
        lives.accept(db)
    with freeze_time("2026-03-01T13:00:00Z"):
        [(code, message, _)] = ward.ask("clock")
        assert code == "clock_set_back"
        assert "10 min from now" in message
    with freeze_time("2026-03-01T13:10:00Z"):
        assert ward.ask("clock") == []


def test_a_big_wal_is_emptied_unless_somebody_reads_an_old_view(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_BIG_WAL_BYTES", 100_000)
    with ward.db() as db:
        lives.accept(db)
        reader = other_process(_READER, ward.home.push_db)
        lives.accept(db, lives.message("bob", "x" * 400_000))
        [(code, message, hint)] = ward.ask("wal")
        assert (code, hint) == ("wal_big", "push doctor --fix")
        assert f"process {reader.pid} (" in message

        [(code, message, hint)] = ward.ask("wal", "--fix")
        assert (code, hint) == ("wal_big", f"ps -fp {reader.pid}")
        assert "not repaired" in message

        reader.communicate()
        [(_, message, _)] = ward.ask("wal", "--fix")
        assert message == "what stood in push.db-wal is in push.db now"
        assert ward.ask("wal") == []


def test_a_ledger_that_somebody_locks_names_him(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_BUSY_SECONDS", 0.1)
    with ward.db() as db:
        lives.accept(db)
    reader = other_process(_LOCKER, ward.home.push_db)
    [(code, message, hint)] = ward.ask("ledger")
    reader.communicate()
    assert (code, hint) == ("ledger_locked", f"ps -fp {reader.pid}")
    assert f"process {reader.pid} (" in message
    assert ward.ask("ledger")[0][0] == ""


def test_a_lost_version_is_damage(ward: Ward) -> None:
    with ward.db():
        pass
    with closing(sqlite3.connect(ward.home.push_db)) as db:
        db.execute("PRAGMA user_version = 0")
    assert ward.ask("ledger")[0][::2] == ("ledger_damaged", "push verify")
