"""Making a backup and bringing it up: beside writers, on both libraries, with no configuration, of an older schema."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import stat
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest

from push.backup import archive, creation, restoration, verification
from push.backup.creation import Backup, Wish
from push.cli.main import main
from push.config import load_or_default
from push.errors import ConflictError, Failed, TemporaryError
from push.ledger import copying, engine, held, turns
from push.ledger.database import Database
from push.ledger.schema import VERSION
from push.model.values import Session
from push.paths import Home
from push.state import StateCorrupt, StateFile
from tests.ledger import lives
from tests.unit.ledger.test_migration import write_schema_1


def quiet(_what: str) -> None:
    pass


@pytest.fixture(params=["cysqlite", "sqlite3"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setattr(engine, "CYSQLITE", request.param == "cysqlite")
    return str(request.param)


@pytest.fixture
def place(home: Path) -> Home:
    """A home without a configuration, with one of everything in its ledger."""
    found = Home.at(home)
    with closing(Database.open(found.push_db)) as db:
        lives.rich(db)
    return found


def create(file: Path) -> Backup:
    return creation.create(load_or_default(None), Wish(file), quiet)


def test_a_home_without_a_configuration_is_kept_and_brought_up(place: Home, tmp_path: Path) -> None:
    state = StateFile(place.state)
    state.save_session("local:gus", Session("s1", True, "claude", 0, "/assistant", "ab", ""), expected_epoch=0)
    made = create(tmp_path / "backup.tar.gz")
    assert list(made.manifest.files) == ["state.json", "push.db"]
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    assert verification.verify(made.file, quiet).damages == ()
    done = restoration.restore(made.file, tmp_path / "copy", quiet)
    assert done.held.turns == 3
    assert done.held.deliveries > 0
    assert sorted(path.name for path in done.home.iterdir()) == ["push.db", "state.json"]
    assert [lack.what.split(":")[0] for lack in done.missing] == [f"the assistant's folder {done.home / 'assistant'}"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_home_in_which_nothing_is_yet(home: Path, tmp_path: Path) -> None:
    made = create(tmp_path / "backup.tar")
    assert made.manifest.files == {}
    assert verification.verify(made.file, quiet).damages == ()
    done = restoration.restore(made.file, tmp_path / "copy", quiet)
    with closing(Database.open(done.home / "push.db")) as db:
        assert held.is_of_the_original(db, 1)


def test_writers_go_on_while_one_snapshot_is_copied(home: Path, tmp_path: Path, library: str) -> None:
    path = Home.at(home).push_db
    stop, written = threading.Event(), list[int]()
    with closing(Database.open(path)) as db:

        def write() -> None:
            while not stop.is_set():
                lives.answered(db, f"user{len(written) % 5}")
                written.append(1)
            db.close_thread()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(5):
                before = len(written)
                copied = copying.copy(db, tmp_path / f"{number}.db")
                assert before <= copied.deliveries <= copied.turns
                with closing(sqlite3.connect(tmp_path / f"{number}.db")) as raw:
                    assert raw.execute("PRAGMA quick_check").fetchall() == [("ok",)]
                    assert raw.execute("PRAGMA application_id").fetchone()[0]
        finally:
            stop.set()
            writer.join()
    assert library in {"cysqlite", "sqlite3"}


def test_what_was_erased_is_in_no_page_of_the_copy(place: Home, tmp_path: Path) -> None:
    with closing(Database.open(place.push_db)) as db:
        turn = lives.accept(db, lives.message("ann", "a word that is forgotten"))
        with db.write():
            db.execute("UPDATE turn SET text = 'x' WHERE id = ?", (turn.id,))
        copying.copy(db, tmp_path / "copy.db")
    assert b"a word that is forgotten" not in (tmp_path / "copy.db").read_bytes()


def test_state_json_is_copied_before_the_ledger(place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = creation._copy_ledger
    state = StateFile(place.state)
    state.set_cursor("telegram", 5, owner="")

    def later(*arguments: object) -> object:
        state.set_cursor("telegram", 6, owner="1")  # with its rows, which the copy of the ledger would hold
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(creation, "_copy_ledger", later)
    made = create(tmp_path / "backup.tar")
    done = restoration.restore(made.file, tmp_path / "copy", quiet)
    assert StateFile(done.home / "state.json").read().cursors == {"telegram": 5}


def test_an_older_ledger_is_brought_up_to_date(home: Path, tmp_path: Path) -> None:
    write_schema_1(Home.at(home).push_db)
    folder = tmp_path / "content"
    folder.mkdir()
    os.link(Home.at(home).push_db, folder / "push.db")
    settings = load_or_default(None)
    manifest = creation._manifest(settings, Wish(tmp_path), folder, copying.Copied(1, 9, 5))
    archive.write(tmp_path / "old.tar", manifest, folder, quiet)
    done = restoration.restore(tmp_path / "old.tar", tmp_path / "copy", quiet)
    assert done.held == held.Held(turns=3, deliveries=2)
    with closing(Database.open(done.home / "push.db")) as db:
        assert db.rows("PRAGMA user_version") == [(VERSION,)]
        assert turns.open_conversations(db) == []


def test_a_damaged_state_is_not_kept(place: Home, tmp_path: Path) -> None:
    place.state.write_text("{")
    with pytest.raises(StateCorrupt):
        create(tmp_path / "backup.tar")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_before_anything_is_written(
    place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs(tmp_path)
    full = os.statvfs_result((*real[:4], 10, *real[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    with pytest.raises(TemporaryError, match="no room") as failure:
        create(tmp_path / "backup.tar")
    assert failure.value.exit_code == 5
    assert failure.value.hint == f"df -h {tmp_path}"  # which is still there, unlike where it was made
    assert list(tmp_path.iterdir()) == []
    assert place.push_db.exists()


def test_a_damaged_one_is_not_restored(place: Home, tmp_path: Path) -> None:
    made = create(tmp_path / "backup.tar")
    data = bytearray(made.file.read_bytes())
    data[len(data) // 2] ^= 1
    made.file.write_bytes(data)
    with pytest.raises(Failed, match="damaged") as failure:
        restoration.restore(made.file, tmp_path / "copy", quiet)
    assert failure.value.hint == f"push backup verify {made.file}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar"]
    assert place.push_db.exists()


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(
    place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "seam", lambda _: (tmp_path / "backup.tar").write_text("theirs"))
    with pytest.raises(ConflictError, match="already"):
        create(tmp_path / "backup.tar")
    assert (tmp_path / "backup.tar").read_text() == "theirs"
    assert place.push_db.exists()


def test_a_home_that_is_filled_meanwhile_is_not_overwritten(
    place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create(tmp_path / "backup.tar")
    (tmp_path / "copy").mkdir()
    monkeypatch.setattr(restoration, "seam", lambda _: (tmp_path / "copy" / "theirs").touch())
    with pytest.raises(ConflictError, match="not empty"):
        restoration.restore(made.file, tmp_path / "copy", quiet)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar", "copy"]
    assert place.push_db.exists()


def test_the_assistants_repository_is_named_without_a_credential(home: Path, tmp_path: Path) -> None:
    root = home / "assistant"
    for address, kept in (("https://git.example/mine.git", True), ("https://me:word@git.example/mine.git", False)):
        subprocess.run(["rm", "-rf", str(root)], check=True)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        subprocess.run(["git", "-C", str(root), "remote", "add", "origin", address], check=True)
        made = create(tmp_path / f"{kept}.tar")
        assert made.manifest.assistant_origin == (address if kept else "")
        root.rename(tmp_path / f"gone-{kept}")
        done = restoration.restore(made.file, tmp_path / f"copy-{kept}", quiet)
        wanted = done.home / "assistant"
        hint = f"git clone {address} {wanted}" if kept else f"PUSH_HOME={done.home} push init {wanted}"
        assert done.missing[-1].hint == hint


def test_an_agents_run_makes_none_and_restores_none(
    place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PUSH_RUN", str(place.spool / "t1-1"))
    assert main(["backup", "create", str(tmp_path / "backup.tar")]) == 6
    assert main(["backup", "restore", str(tmp_path / "backup.tar"), "--to", str(tmp_path / "copy")]) == 6
    assert main(["retries", "now", "--held"]) == 6
    assert list(tmp_path.iterdir()) == []
    assert "an agent's run cannot" in capsys.readouterr().err
    assert place.push_db.exists()
