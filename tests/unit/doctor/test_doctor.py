"""`push doctor`: each check seen to fail, with the next command; what `--fix` repairs, and what it leaves alone."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from freezegun import freeze_time

from push.cli.main import main
from push.ledger import arrivals, engine, turns
from push.ledger.database import Database
from push.model.values import Accepted, Inbound, Plan
from push.state import StateFile
from tests.ledger import lives

TOKEN = "8012345678:AAF-x_Q9wErTyUiOpAsDfGhJkLzXcVbNm12"
GIB = 1024**3
OF_EVERY_MACHINE = ("config", "disk", "sqlite", "timezone")
OF_EVERY_HOME = ("permissions", "descriptors", "ledger", "state", "processes", "agent", "assistant", "service")


class Diagnosis(NamedTuple):
    """The exit code, and check -> its items."""

    code: int
    items: dict[str, list[dict[str, str]]]

    def one(self, check: str) -> dict[str, str]:
        (item,) = self.items[check]
        return item


class Patient:
    """A home with a configuration, and `push doctor` for it."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys
        self.soul = home / "assistant" / "SOUL.md"
        self.soul.parent.mkdir(mode=0o700)
        self.soul.write_text("Be kind.")
        self.configure('agent = "command"', 'command = ["cat"]')

    def configure(self, *lines: str) -> None:
        config = self.home / "config.toml"
        config.write_text("\n".join(['channel = "local"', 'assistant_root = "assistant"', *lines]))
        config.chmod(0o600)

    def run(self, *arguments: str) -> Diagnosis:
        code = main(["doctor", "--json", *arguments])
        body: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        items: dict[str, list[dict[str, str]]] = {}
        for item in body["items"]:
            items.setdefault(item["check"], []).append(item)
        assert body["version"] == 1
        assert body["failed"] == sum(item["status"] == "failed" for item in body["items"])
        return Diagnosis(code, items)


@pytest.fixture(autouse=True)
def _no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def patient(home: Path, capsys: pytest.CaptureFixture[str]) -> Patient:
    return Patient(home, capsys)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_healthy_home_passes_and_nothing_is_made(patient: Patient) -> None:
    before = sorted(patient.home.rglob("*"))
    diagnosis = patient.run()
    assert diagnosis.code == 0
    assert {item["status"] for items in diagnosis.items.values() for item in items} == {"ok"}
    assert set(diagnosis.items) == {*OF_EVERY_MACHINE, *OF_EVERY_HOME}
    assert sorted(patient.home.rglob("*")) == before


def test_without_any_configuration_the_embedded_default_is_healthy(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    assert "12 checks, 0 failed" in capsys.readouterr().out


def test_what_stands_in_the_way_of_a_file_or_a_folder_is_named(patient: Patient) -> None:
    (patient.home / "audit.jsonl").mkdir(0o700)
    (patient.home / "spool").touch(0o600)
    found = [item for item in patient.run().items["permissions"] if item["code"] == "misplaced"]
    assert [item["hint"] for item in found] == [
        f"mv {patient.home / name} {patient.home / name}.old" for name in ("audit.jsonl", "spool")
    ]


def test_for_a_person_each_failure_has_the_next_command(patient: Patient, capsys: pytest.CaptureFixture[str]) -> None:
    patient.home.chmod(0o755)
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("failed  permissions: "))
    assert lines[place + 1] == "        next: push doctor --fix"
    assert lines[-1] == "12 checks, 1 failed"


# -- configuration ---------------------------------------------------------------------------------------------------


def test_a_wrong_configuration_is_told_and_the_machine_is_checked_all_the_same(patient: Patient) -> None:
    patient.configure('agnet = "claude"', "run_timeuot = 5", f'[telegram]\nbot_token = "{TOKEN}"')
    diagnosis = patient.run()
    assert diagnosis.code == 1
    first, second, *_ = diagnosis.one("config")["message"].splitlines()
    assert ("agnet" in first, "run_timeuot" in second) == (True, True)
    assert TOKEN not in json.dumps(diagnosis.items)
    assert set(diagnosis.items) == set(OF_EVERY_MACHINE)


def test_a_configuration_that_is_named_but_missing_fails(patient: Patient) -> None:
    assert patient.run("--config", str(patient.home / "other.toml")).one("config")["status"] == "failed"


# -- permissions -----------------------------------------------------------------------------------------------------


def test_what_others_may_read_is_found_and_closed(patient: Patient) -> None:
    Database.open(patient.home / "push.db").close()
    (patient.home / "logs").mkdir()
    patient.home.chmod(0o755)
    (patient.home / "logs").chmod(0o710)
    (patient.home / "push.db").chmod(0o640)
    found = patient.run()
    assert found.code == 1
    assert found.one("permissions")["message"].count(str(patient.home)) == 3
    assert found.one("permissions")["hint"] == "push doctor --fix"
    assert mode(patient.home) == 0o755

    fixed = patient.run("--fix")
    assert (fixed.code, fixed.one("permissions")["status"]) == (0, "fixed")
    assert [mode(patient.home / name) for name in ("", "logs", "push.db")] == [0o700, 0o700, 0o600]
    assert patient.run().one("permissions")["status"] == "ok"


def test_a_home_that_was_made_read_only_is_opened_again_with_its_locks(patient: Patient) -> None:
    Database.open(patient.home / "push.db").close()
    for path in (patient.home / "push.db.writer", patient.home / "push.db", patient.home):
        path.chmod(path.stat().st_mode & ~0o222)
    diagnosis = patient.run("--fix")
    assert (diagnosis.code, diagnosis.one("permissions")["status"]) == (0, "fixed")
    assert mode(patient.home / "push.db.writer") == 0o600


def test_a_readable_configuration_counts_only_with_a_secret_in_it(patient: Patient) -> None:
    config = patient.home / "config.toml"
    config.chmod(0o644)
    assert patient.run().code == 0
    patient.configure('agent = "command"', 'command = ["cat"]', f'[telegram]\nbot_token = "{TOKEN}"')
    config.chmod(0o644)
    assert str(config) in patient.run().one("permissions")["message"]
    patient.run("--fix")
    assert mode(config) == 0o600


def test_what_is_neither_file_nor_folder_is_left_to_everybody(patient: Patient) -> None:
    """As /dev/null is, which somebody who wants no audit log names."""
    device = patient.home / "null"
    os.mkfifo(device)
    device.chmod(0o666)
    patient.configure('agent = "command"', 'command = ["cat"]', f'audit_log_path = "{device}"')
    assert patient.run("--fix").one("permissions")["status"] == "ok"
    assert stat.S_IMODE(device.stat().st_mode) == 0o666


def test_a_file_of_another_user_is_not_touched(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    patient.home.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    item = patient.run("--fix").one("permissions")
    assert (item["status"], item["code"]) == ("failed", "home_of_another")
    assert item["hint"].startswith("sudo -u ")
    assert item["hint"].endswith(" push doctor")
    assert mode(patient.home) == 0o755


# -- disk and SQLite -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "files", "status", "code"),
    [
        (2 * GIB, 10**6, "ok", 0),
        (GIB // 2, 10**6, "warning", 0),
        (50 * 1024**2, 10**6, "failed", 1),
        (2 * GIB, 5000, "warning", 0),
        (2 * GIB, 50, "failed", 1),
    ],
)
def test_the_room_on_the_disk(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, free: int, files: int, status: str, code: int
) -> None:
    largest = patient.home / "assistant" / "film"
    largest.write_bytes(b"x" * 3 * 1024**2)
    real = os.statvfs(patient.home)
    room = SimpleNamespace(
        f_frsize=1, f_bavail=free, f_bfree=free, f_blocks=100 * GIB, f_files=real.f_files, f_favail=files
    )
    monkeypatch.setattr(os, "statvfs", lambda _path: room)
    diagnosis = patient.run()
    assert (diagnosis.one("disk")["status"], diagnosis.code) == (status, code)
    if code:
        assert f"the most in {largest} (3 MiB)" in diagnosis.one("disk")["message"]


@pytest.mark.parametrize(
    ("number", "code", "hint"),
    [(errno.ENOSPC, "disk_full", "push doctor --fix"), (errno.EROFS, "not_writable", "findmnt -T ")],
)
def test_a_file_is_really_written(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, number: int, code: str, hint: str
) -> None:
    def refuse(_fd: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    item = patient.run().one("disk")
    assert (item["status"], item["code"]) == ("failed", code)
    assert item["hint"].startswith(hint)
    assert list(patient.home.glob(".doctor-*")) == []


def test_a_home_that_is_no_folder_fails(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "file").touch(0o700)
    monkeypatch.setenv("PUSH_HOME", str(home / "file"))
    assert main(["doctor"]) == 1
    assert "failed  disk: " in capsys.readouterr().out


def test_a_home_that_cannot_be_made_fails_and_says_what_to_set(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("PUSH_HOME", str(home / "not" / "there"))
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert f"{home / 'not' / 'there'} cannot be made: {home} is not a folder that we may write to" in said
    assert 'next: export PUSH_HOME="$HOME/.push"' in said


def test_a_sqlite_with_the_wal_reset_fault_is_a_warning(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "version", lambda: (3, 40, 1))
    diagnosis = patient.run()
    assert diagnosis.code == 0
    assert diagnosis.one("sqlite")["status"] == "warning"
    assert "cysqlite" in diagnosis.one("sqlite")["hint"]


# -- ledger and state ------------------------------------------------------------------------------------------------


def test_a_ledger_that_is_none_or_newer_or_damaged_fails(patient: Patient) -> None:
    path = patient.home / "push.db"
    path.write_bytes(b"rubbish" * 1000)
    path.chmod(0o600)
    assert patient.run("--fix").one("ledger")["status"] == "failed"
    assert path.read_bytes() == b"rubbish" * 1000

    path.unlink()
    Database.open(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    assert "schema 99" in patient.run().one("ledger")["message"]


def test_a_ledger_with_a_damaged_page_fails(patient: Patient) -> None:
    path = patient.home / "push.db"
    Database.open(path).close()
    with sqlite3.connect(path) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'turn_conversation'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    item = patient.run().one("ledger")
    assert (item["status"], item["hint"]) == ("failed", "push verify")


def test_a_damaged_state_is_rebuilt_from_the_ledger_and_kept(patient: Patient) -> None:
    db = Database.open(patient.home / "push.db")
    for conversation, session_id, epoch in (("local:ann", "s1", 3), ("local:bob", "s2", 0)):
        message = Inbound("local", conversation, "ann", conversation, "ann", "hello", 0)
        accepted = arrivals.accept(db, message)
        assert isinstance(accepted, Accepted)
        turn = turns.get(db, accepted.turn_id)
        assert turn is not None
        turns.start(db, turn, Plan("claude", session_id, True, epoch, "/w", "ab"))
    new = arrivals.accept(db, Inbound("local", "local:bob", "ann", "new", "ann", " /CLEAR ", 0, "command"))
    assert isinstance(new, Accepted)
    turn = turns.get(db, new.turn_id)
    assert turn is not None
    turns.answer_command(db, turn, lives.rendered("done"))
    for day, owner, position in (("2026-03-02", "new bot", 7), ("2026-03-01", "old bot", 900)):
        with freeze_time(day):
            arrivals.passed(db, arrivals.Reading("telegram", owner, position))
    db.close()
    file = StateFile(patient.home / "state.json")
    file.path.write_text('{"sessions": ')
    file.path.chmod(0o600)

    found = patient.run()
    assert (found.code, found.one("state")["hint"]) == (1, "push doctor --fix")
    assert file.path.read_text() == '{"sessions": '

    fixed = patient.run("--fix")
    assert (fixed.code, fixed.one("state")["status"]) == (0, "fixed")
    assert set(file.read().sessions) == {"local:ann"}
    assert file.epoch("local:ann") == 3
    assert file.begin("local:bob") == (1, None)
    assert (file.read().cursors, file.read().cursor_owner) == ({"telegram": 7}, {"telegram": "new bot"})
    assert [path.read_text() for path in patient.home.glob("state.json.broken-*")] == ['{"sessions": ']
    assert patient.run().one("state")["status"] == "ok"


def test_a_damaged_state_beside_a_damaged_ledger_is_left_alone(patient: Patient) -> None:
    for name in ("push.db", "state.json"):
        (patient.home / name).write_bytes(b"rubbish")
        (patient.home / name).chmod(0o600)
    diagnosis = patient.run("--fix")
    assert diagnosis.one("state")["status"] == "failed"
    assert "not repaired" in diagnosis.one("state")["message"]
    assert (patient.home / "state.json").read_bytes() == b"rubbish"


def test_a_folder_in_the_place_of_the_state_is_moved_away(patient: Patient) -> None:
    (patient.home / "state.json").mkdir(mode=0o700)
    assert patient.run("--fix").one("state")["status"] == "fixed"
    assert patient.run().one("state")["status"] == "ok"


# -- agents ----------------------------------------------------------------------------------------------------------


def test_every_configured_agent_needs_a_program_that_runs(patient: Patient, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.touch(0o600)
    patient.configure(
        'agent = "claude"',
        'claude_bin = "no-such-program"',
        f'codex_bin = "{blocked}"',
        'command = ["cat"]',
        '[[routes]]\nthread = "local:ann"\nagent = "codex"',
        '[[routes]]\nthread = "local:bob"\nagent = "command"',
    )
    diagnosis = patient.run()
    assert diagnosis.code == 1
    claude, codex, command = diagnosis.items["agent"]
    assert "no-such-program is not found" in claude["message"]
    assert claude["hint"] == "npm install -g @anthropic-ai/claude-code"
    assert codex["hint"] == f"chmod +x {blocked}"
    assert (command["status"], command["message"]) == ("ok", f"command: {shutil.which('cat')}")


def test_a_missing_soul_fails(patient: Patient) -> None:
    patient.soul.unlink()
    item = patient.run().one("assistant")
    assert item["status"] == "failed"
    assert str(patient.soul) in item["message"]
    assert item["hint"]


def test_a_ledger_of_a_newer_push_is_met_with_the_newer_push(patient: Patient) -> None:
    (patient.home / "push.db").touch(0o600)
    with closing(sqlite3.connect(patient.home / "push.db")) as connection:
        connection.execute("PRAGMA user_version = 999")
    item = patient.run().one("ledger")
    assert item["code"] == "schema_newer"
    assert item["hint"].startswith("git -C ")
