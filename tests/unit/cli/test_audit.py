"""`push audit tail`: the newest records for a person and for a program, and following them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from freezegun import freeze_time

from push.audit import Audit
from push.cli.main import main
from tests.crash.site import PUSH

NOON = "2026-03-01T12:00:00.000Z"


def record(home: Path, *, content: bool = False) -> None:
    with freeze_time(NOON):
        log = Audit(home / "audit.jsonl", content=content)
        log.record("turn_postponed", turn=7, thread="local:ann", reason="disk_full", attempt=2, reply="a secret text")
        log.close()


def test_a_record_is_a_line(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    record(home, content=True)
    assert main(["audit", "tail"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("  turn_postponed  local:ann  t7  disk_full  attempt=2  reply=(13 characters)\n")
    assert out[:10] in {"2026-03-01", "2026-03-02"}  # by the clock on the wall


def test_for_a_program(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(home)
    with (home / "audit.jsonl").open("a") as file:
        file.write("torn\n")
    assert main(["audit", "tail", "-n", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "version": 1,
        "items": [
            {
                "at": NOON,
                "event": "turn_postponed",
                "fields": {
                    "turn": 7,
                    "thread": "local:ann",
                    "reason": "disk_full",
                    "attempt": 2,
                    "reply": {"chars": 13},
                },
            }
        ],
        "damaged": 1,
    }
    main(["audit", "tail"])
    assert capsys.readouterr().err == "1 damaged line left out.\n"


def test_there_may_be_none(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "tail"]) == 0
    assert capsys.readouterr().err == "Nothing was recorded yet.\n"
    record(home)
    assert main(["audit", "tail", "--event", "other"]) == 0
    assert capsys.readouterr().err == "There are no such records.\n"


def test_what_comes_is_followed_until_ctrl_c(home: Path) -> None:
    record(home)
    popen = subprocess.Popen([*PUSH, "audit", "tail", "-f", "--json"], stdout=subprocess.PIPE, text=True)
    assert popen.stdout is not None
    for rotated in (False, True):
        assert json.loads(popen.stdout.readline())["event"] == "turn_postponed"
        if not rotated:
            (home / "audit.jsonl").rename(home / "audit.jsonl.1")
            record(home)
    popen.send_signal(2)
    popen.communicate(timeout=20)
    assert popen.returncode == 130
