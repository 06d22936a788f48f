"""A log's old lines go: rotated by age as well as by size, and removed file by file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from freezegun import freeze_time

from push import audit, clock, telemetry
from push.appendlog import AppendFile, instant_of_oldest, rotated
from push.audit import Audit

DAY_MS = 24 * 3600 * 1000
DAYS = [f"2026-03-{day:02}T12:00:00Z" for day in range(1, 30)]


def record(path: Path) -> None:
    log = Audit(path, content=False)
    log.record("one")
    log.close()


def forget(path: Path, days: int = 4) -> int:
    return AppendFile(path).forget(days * DAY_MS, audit.instant)


def test_lines_are_kept_for_the_limit_and_a_quarter_of_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for day in DAYS:
        with freeze_time(day):
            record(path)
            forget(path)
            oldest = min(at for file in (path, *rotated(path)) if (at := instant_of_oldest(file, audit.instant)))
            assert clock.now_ms() - oldest <= 6 * DAY_MS
    with freeze_time(DAYS[-1]):
        lines = (
            [line for file in (path, *rotated(path)) for line in file.read_text().splitlines()] if path.exists() else []
        )
        kept = sorted(at for line in lines if (at := audit.instant(line)))
        assert clock.now_ms() - kept[0] >= 4 * DAY_MS  # and not less than the limit


def test_a_file_that_nobody_writes_any_more_goes_too(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with freeze_time(DAYS[0]):
        record(path)
        assert forget(path) == 0
    with freeze_time(DAYS[9]):
        assert forget(path) == 1
    assert list(tmp_path.iterdir()) == []
    assert forget(path) == 0  # and none is made


def test_whoever_has_the_file_open_goes_on_in_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = Audit(path, content=False)
    with freeze_time(DAYS[0]):
        log.record("one")
    with freeze_time(DAYS[2]):
        forget(path)
        log.record("two")
    log.close()
    assert "two" in path.read_text()
    assert "one" in path.with_name("audit.jsonl.1").read_text()


@pytest.mark.parametrize("content", [b"", b"not ours\n", b'{"ts_ms": "x"}\n[1]\n'])
def test_what_tells_no_instant_is_not_rotated(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "service.log"
    path.write_bytes(content)
    assert forget(path) == 0
    assert path.read_bytes() == content


def test_a_rotated_file_without_an_instant_is_as_old_as_its_last_write(tmp_path: Path) -> None:
    old = tmp_path / "audit.jsonl.2"
    old.write_text("torn")
    assert forget(tmp_path / "audit.jsonl") == 0
    os.utime(old, (1, 1))
    assert forget(tmp_path / "audit.jsonl") == 1
    assert not old.exists()


def test_the_newest_line_decides(tmp_path: Path) -> None:
    """And not the file's time, which a copy makes new."""
    path = tmp_path / "audit.jsonl.1"
    with freeze_time(DAYS[0]):
        record(path)
    assert path.stat().st_mtime > clock.from_iso(DAYS[20]) / 1000
    with freeze_time(DAYS[20]):
        assert forget(tmp_path / "audit.jsonl") == 1


def test_the_instant_of_an_entry_of_the_log() -> None:
    assert telemetry.instant("2026-03-01T12:00:00.000Z INFO run[1] push: hello") == clock.from_iso(DAYS[0])
    for line in ("", "    Traceback", "2026-03-01 hello", "2026-03-01T12:00:00 without an offset"):
        assert telemetry.instant(line) is None
