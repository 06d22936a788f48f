"""state.json: its form, its locking, its replacement. The epochs under arbitrary orders are in tests/property."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push import seams, state
from push.errors import TemporaryError
from push.locks import FileLock
from push.model.values import Session
from push.state import StateCorrupt, StateFile

SESSION = Session(
    uuid="5b1f",
    started=True,
    backend="claude",
    epoch=0,
    work_dir="/srv/assistant",
    instructions_sha256="ab" * 32,
    used_on="2026-01-01",
)


@pytest.fixture
def file(tmp_path: Path) -> StateFile:
    return StateFile(tmp_path / "state.json")


def content(file: StateFile) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(file.path.read_bytes())
    return loaded


def written(path: Path, value: object) -> StateFile:
    path.write_text(json.dumps(value))
    return StateFile(path)


def test_a_missing_file_is_the_empty_state_and_reading_creates_nothing(file: StateFile) -> None:
    assert file.session("local:ann") is None
    assert file.epoch("local:ann") == 0
    assert file.read().cursors == {}
    assert list(file.path.parent.iterdir()) == []


@freeze_time("2026-03-01")
def test_what_was_saved_is_read_back_in_the_shape_of_the_spec(file: StateFile) -> None:
    assert file.save_session("local:ann", SESSION, expected_epoch=0)
    file.set_cursor("telegram", 456, owner="bot 77")
    file.set_cursor("imessage", 123, owner="chat.db 9")

    session = file.session("local:ann")
    assert session is not None
    assert (session.uuid, session.used_on) == ("5b1f", "2026-03-01")
    raw = content(file)
    assert raw["last_row_id"] == 123
    assert raw["cursors"] == {"telegram": 456, "imessage": 123}
    assert raw["cursor_owner"] == {"telegram": "bot 77", "imessage": "chat.db 9"}
    assert raw["sessions"]["local:ann"].items() >= {"uuid": "5b1f", "started": True, "backend": "claude"}.items()
    assert b" " not in file.path.read_bytes().replace(b"bot 77", b"").replace(b"chat.db 9", b"")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_a_file_that_others_may_read_becomes_private_at_the_next_write(file: StateFile) -> None:
    file.path.write_text("{}")
    file.path.chmod(0o644)
    file.path.with_name("state.json.new").touch(0o644)  # left by a process that was killed
    file.set_cursor("telegram", 1, owner="b")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "state.json"
    link.symlink_to(tmp_path / "elsewhere" / "real.json")
    StateFile(link).set_cursor("telegram", 1, owner="b")
    assert link.is_symlink()
    assert json.loads(link.read_bytes())["cursors"] == {"telegram": 1}


def test_nothing_is_written_when_nothing_changes_and_a_use_is_noted_once_a_day(file: StateFile) -> None:
    def writes(inode: int) -> bool:
        return file.path.stat().st_ino != inode

    with freeze_time("2026-03-01 09:00"):
        file.save_session("local:ann", SESSION, expected_epoch=0)
        file.set_cursor("telegram", 5, owner="b")
        keep = os.open(file.path, os.O_RDONLY)  # so that the inode's number is not used again
        first = file.path.stat().st_ino
    with freeze_time("2026-03-01 23:59"):
        assert file.save_session("local:ann", SESSION, expected_epoch=0)
        file.set_cursor("telegram", 5, owner="b")
        assert not writes(first)
    with freeze_time("2026-03-02 00:01"):
        assert file.save_session("local:ann", SESSION, expected_epoch=0)
        assert writes(first)
    os.close(keep)


def test_a_cursor_of_another_owner_is_a_change(file: StateFile) -> None:
    file.set_cursor("telegram", 5, owner="bot 1")
    file.set_cursor("telegram", 5, owner="bot 2")
    assert file.read().cursor_owner == {"telegram": "bot 2"}


# -- epochs ----------------------------------------------------------------------------------------------------------


def test_a_turn_from_before_new_cannot_bring_the_old_session_back(file: StateFile) -> None:
    epoch, _ = file.begin("local:ann")
    assert file.save_session("local:ann", SESSION, expected_epoch=epoch)
    epoch, session = file.begin("local:ann")
    assert session is not None

    assert file.reset_session("local:ann") == epoch + 1
    before = file.path.read_bytes()
    assert not file.save_session("local:ann", SESSION, expected_epoch=epoch)
    assert file.path.read_bytes() == before
    assert file.begin("local:ann") == (epoch + 1, None)
    assert file.read().sessions == {}
    assert file.save_session("local:ann", SESSION, expected_epoch=epoch + 1)


def test_sessions_idle_for_ninety_days_are_dropped_at_a_write(file: StateFile) -> None:
    with freeze_time("2026-01-01"):
        file.save_session("local:idle", SESSION, expected_epoch=0)
    with freeze_time("2026-01-02"):
        file.save_session("local:used", SESSION, expected_epoch=0)
    with freeze_time("2026-04-02"):  # 91 and 90 days later
        assert file.session("local:idle") is not None
        file.set_cursor("telegram", 1, owner="b")
    assert set(file.read().sessions) == {"local:used"}


def test_an_epoch_survives_the_drop_of_its_entry(file: StateFile) -> None:
    with freeze_time("2026-01-01"):
        epoch, _ = file.begin("local:ann")
        file.reset_session("local:ann")
    with freeze_time("2026-06-01"):
        file.set_cursor("telegram", 1, owner="b")
        assert "local:ann" not in content(file)["sessions"]
        assert not file.save_session("local:ann", SESSION, expected_epoch=epoch)
        assert file.reset_session("local:ann") > epoch + 1


# -- old and foreign files -------------------------------------------------------------------------------------------


@freeze_time("2026-03-01")
def test_an_imessage_only_file_loads(tmp_path: Path) -> None:
    old = {
        "last_row_id": 123,
        "sessions": {
            "self:you@icloud.com": {"uuid": "a", "started": True, "backend": "codex"},
            "+15550100": {"uuid": "b", "started": False},
            "telegram:9": {"uuid": "c", "started": True, "backend": "pi"},
        },
    }
    file = written(tmp_path / "state.json", old)
    assert file.read().cursors == {"imessage": 123}
    assert set(file.read().sessions) == {"imessage:self:you@icloud.com", "imessage:+15550100", "telegram:9"}
    assert file.session("imessage:self:you@icloud.com") == Session("a", True, "codex", 0, "", "", "")

    file.set_cursor("imessage", 124, owner="chat.db 9")
    raw = content(file)
    assert raw["last_row_id"] == raw["cursors"]["imessage"] == 124
    assert raw["sessions"]["imessage:+15550100"]["used_on"] == "2026-03-01"


def test_the_example_of_the_spec_loads(tmp_path: Path) -> None:
    key = "imessage:self:you@icloud.com"
    file = written(
        tmp_path / "state.json",
        {
            "last_row_id": 123,
            "cursors": {"imessage": 123, "telegram": 456},
            "sessions": {key: {"uuid": "backend-session-id", "started": True, "backend": "codex"}},
        },
    )
    assert file.read().cursors == {"imessage": 123, "telegram": 456}
    assert file.begin(key) == (0, Session("backend-session-id", True, "codex", 0, "", "", ""))


def test_unknown_keys_are_kept(tmp_path: Path) -> None:
    file = written(
        tmp_path / "state.json",
        {"theirs": {"deep": [1, "\ud800"]}, "cursors": {}, "sessions": {"local:ann": {"uuid": "a", "note": 7}}},
    )
    file.save_session("local:ann", SESSION, expected_epoch=0)
    assert content(file)["theirs"] == {"deep": [1, "\ud800"]}
    assert content(file)["sessions"]["local:ann"]["note"] == 7


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\0" * 300,
        b'{"cursors": {"telegram": 4',
        b"\xff\xfe{",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"last_row_id": "12"}',
        b'{"last_row_id": true}',
        b'{"last_row_id": ' + b"9" * 5000 + b"}",
        b'{"cursors": [1]}',
        b'{"cursors": {"telegram": 1.5}}',
        b'{"cursor_owner": {"telegram": 77}}',
        b'{"sessions": {"local:ann": "a"}}',
        b'{"sessions": {"local:ann": {"uuid": 5}}}',
        b'{"sessions": {"local:ann": {"uuid": "a", "started": 1}}}',
        b'{"sessions": {"local:ann": {"uuid": "a", "epoch": "1"}}}',
        b'{"sessions": {"local:ann": {"uuid": "a", "used_on": "yesterday"}}}',
        b'{"sessions": {"local:ann": {"uuid": "a", "used_on": "20260101"}}}',
    ],
    ids=lambda damage: damage[:40].decode(errors="replace"),
)
def test_a_damaged_file_is_a_clear_error_and_is_never_touched(file: StateFile, damage: bytes) -> None:
    file.path.write_bytes(damage)
    for act in (
        file.read,
        lambda: file.begin("local:ann"),
        lambda: file.save_session("local:ann", SESSION, expected_epoch=0),
        lambda: file.reset_session("local:ann"),
        lambda: file.set_cursor("telegram", 1, owner="b"),
    ):
        with pytest.raises(StateCorrupt) as caught:
            act()
        assert str(file.path) in caught.value.message
        assert caught.value.why
        assert caught.value.hint == "push doctor --fix"
        assert (caught.value.exit_code, caught.value.code) == (3, "state_corrupt")
    assert file.path.read_bytes() == damage


@freeze_time("2026-03-01")
def test_rebuild_replaces_a_damaged_file_and_keeps_a_copy(file: StateFile) -> None:
    file.path.write_bytes(b"\0" * 300)
    kept = file.rebuild(
        {"local:ann": SESSION, "local:bob": Session(None, False, "", 4, "", "", "")}, {"imessage": ("db1", 12)}
    )
    assert kept is not None
    assert kept.read_bytes() == b"\0" * 300
    assert kept.parent == file.path.parent
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert content(file)["last_row_id"] == 12
    assert file.session("local:ann") == SESSION
    assert file.begin("local:bob") == (4, None)
    assert content(file)["sessions"]["local:bob"]["used_on"] == "2026-03-01"


def test_what_is_no_file_hangs_nobody_and_is_moved_away(file: StateFile) -> None:
    os.mkfifo(file.path)
    with pytest.raises(StateCorrupt) as caught:
        file.read()
    assert caught.value.why == "it is not a regular file"
    kept = file.rebuild({}, {})
    assert kept is not None
    assert kept.is_fifo()
    assert file.read().cursors == {}


def test_rebuild_without_a_file_keeps_no_copy(file: StateFile) -> None:
    assert file.rebuild({}, {}) is None
    assert file.read().cursors == {}


# -- disk and locks --------------------------------------------------------------------------------------------------


def test_a_full_disk_is_a_temporary_error_and_leaves_the_old_file(
    file: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.set_cursor("telegram", 1, owner="b")
    before = file.path.read_bytes()
    monkeypatch.setattr(seams, "_armed", {"state.before_replace": "raise:ENOSPC"})
    with pytest.raises(TemporaryError, match="No space left") as caught:
        file.set_cursor("telegram", 2, owner="b")
    assert caught.value.exit_code == 5
    assert file.path.read_bytes() == before
    assert not file.path.with_name("state.json.new").exists()


def test_a_folder_that_cannot_be_used_is_a_temporary_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = StateFile(tmp_path / "file" / "state.json")
    with pytest.raises(TemporaryError):
        file.read()
    with pytest.raises(TemporaryError):
        file.set_cursor("telegram", 1, owner="b")


def test_a_stuck_holder_of_the_lock_is_an_error_and_readers_do_not_wait_for_it(
    file: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_LOCK_SECONDS", 0.05)
    lock = FileLock.take(file.path.with_name("state.json.lock"))
    assert lock is not None
    with lock:
        assert file.epoch("local:ann") == 0
        with pytest.raises(TemporaryError) as caught:
            file.reset_session("local:ann")
        assert caught.value.code == "state_locked"
    assert file.reset_session("local:ann") == 1


# -- several processes, and killed ones ------------------------------------------------------------------------------

_COUNT = """
import sys
from pathlib import Path
from push.state import StateFile
file = StateFile(Path(sys.argv[1]))
for _ in range(25):
    file.reset_session("local:shared")
    file.reset_session("local:" + sys.argv[2])
"""


def test_nothing_is_lost_between_processes(file: StateFile) -> None:
    names = ["a", "b", "c", "d"]
    processes = [subprocess.Popen([sys.executable, "-c", _COUNT, str(file.path), name]) for name in names]
    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]
    assert file.epoch("local:shared") == 100
    assert [file.epoch(f"local:{name}") for name in names] == [25] * 4


@pytest.mark.crash
@pytest.mark.parametrize(("seam", "expected"), [("state.before_replace", 1), ("state.replaced", 2)])
def test_a_kill_leaves_the_old_file_or_the_new_one(file: StateFile, seam: str, expected: int) -> None:
    file.set_cursor("telegram", 1, owner="b")
    code = f"""
from pathlib import Path
from push.state import StateFile
StateFile(Path({str(file.path)!r})).set_cursor("telegram", 2, owner="b")
"""
    killed = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PUSH_SEAMS": f"{seam}=kill"}, timeout=60, check=False
    )
    assert killed.returncode == -9
    assert file.read().cursors == {"telegram": expected}
    file.set_cursor("telegram", 3, owner="b")  # neither the lock nor what was left of the write is in the way
    assert file.read().cursors == {"telegram": 3}
