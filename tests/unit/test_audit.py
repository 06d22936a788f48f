"""What an audit record may hold, and what happens when it cannot be written."""

from __future__ import annotations

import errno
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push.appendlog import AppendFile
from push.audit import MAX_LINE, Audit

TOKEN = "8012345678:AAF-x_Q9wErTyUiOpAsDfGhJkLzXcVbNm12"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def written(path: Path, event: str, **fields: object) -> dict[str, Any]:
    audit = Audit(path, bool(fields.pop("content", False)), [TOKEN])
    audit.record(event, **fields)
    audit.close()
    return records(path)[-1]


@freeze_time("2026-03-01T00:00:00.250Z")
def test_a_record_has_the_time_the_event_and_what_is_known(path: Path) -> None:
    record = written(path, "message_accepted", row_id=7, channel="local", thread="local:ann", is_group=False, code=None)
    assert record == {
        "ts_ms": 1772323200250,
        "event": "message_accepted",
        "row_id": 7,
        "channel": "local",
        "thread": "local:ann",
        "is_group": False,
    }


@pytest.mark.parametrize("name", ["message", "reply", "detail", "error", "text", "something_new"])
def test_text_is_its_length_unless_the_owner_asked_for_it(path: Path, name: str) -> None:
    fields: dict[str, object] = {name: "grüße"}
    assert written(path, "e", **fields)[name] == {"chars": 5}
    assert "gr" not in path.read_text()
    assert written(path, "e", content=True, **fields)[name] == {"chars": 5, "text": "grüße"}


def test_nested_text_is_its_length_too(path: Path) -> None:
    record = written(path, "e", reason=["late", {"message": "psst", "channel": "local"}], parts=["psst", 1])
    assert record["reason"] == ["late", {"message": {"chars": 4}, "channel": "local"}]
    assert record["parts"] == [{"chars": 4}, 1]


@pytest.mark.parametrize("content", [True, False])
def test_c60_a_secret_is_never_written(path: Path, *, content: bool) -> None:
    url = f"https://api.telegram.org/bot{TOKEN}/getMe"
    written(
        path,
        "e",
        content=content,
        reason=f"cannot connect to {url}",
        reply=f"my environment: {TOKEN}",
        target=Path("/") / TOKEN,
        code={"deep": [{TOKEN: TOKEN.encode()}]},
        message="x" * 7990 + TOKEN,
    )
    assert TOKEN not in path.read_text()
    assert TOKEN[:8] not in path.read_text()
    assert "[redacted]" in path.read_text()


def test_control_characters_are_escaped_and_a_record_is_one_line(path: Path) -> None:
    nasty = "a\nb\x00\x1b[2J\x7f\x9b\u2028\u202e\ud800"
    record = written(path, "e", content=True, reply=nasty)
    assert record["reply"]["text"] == nasty
    raw = path.read_bytes()
    assert raw.count(b"\n") == 1
    assert all(32 <= byte < 127 for byte in raw[:-1])


@pytest.mark.parametrize(
    "fields",
    [
        {"message": "😀" * 300_000},
        {"message": "x" * 300_000, "reply": "y" * 300_000, "reason": "z" * 300_000},
        {"rows": list(range(100_000))},
    ],
)
def test_a_line_is_bounded(path: Path, fields: dict[str, object]) -> None:
    record = written(path, "e", content=True, **fields)
    assert path.stat().st_size <= MAX_LINE
    assert record["event"] == "e"
    for key, value in fields.items():
        if isinstance(value, str) and key != "reason":
            assert record[key]["chars"] == 300_000
            assert len(record[key]["text"]) >= 1000


def test_a_full_disk_stops_nobody_and_the_gap_is_recorded(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    audit = Audit(path, content=False)
    audit.record("before")
    real = AppendFile.write

    def full(self: object, line: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(AppendFile, "write", full)
    with caplog.at_level(logging.ERROR):
        audit.record("lost", message="psst")
        audit.record("lost")
    assert audit.lost == 2
    assert len(caplog.records) == 1
    assert "No space left" in caplog.text

    monkeypatch.setattr(AppendFile, "write", real)
    audit.record("after")
    audit.close()
    assert [record["event"] for record in records(path)] == ["before", "audit_gap", "after"]
    assert records(path)[1]["records"] == 2
    assert audit.lost == 2


def test_a_folder_that_cannot_be_made_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    audit = Audit(tmp_path / "file" / "audit.jsonl", content=False)
    audit.record("e")
    assert audit.lost == 1
