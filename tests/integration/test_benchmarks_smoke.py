"""The harness of `make bench` works: a few rows, a few messages, and nothing about how fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rows import Limit, Row, spread

ROOT = Path(__file__).resolve().parents[2]


def test_four_messages_through_the_real_thing(tmp_path: Path) -> None:
    """A reply that is missing, twice, or out of order is not measured at all."""
    [row] = tiny(tmp_path, "throughput")
    assert row["name"] == "throughput"
    assert all(value > 0 for value in row["floor"].values())


def test_two_messages_through_a_telegram_of_its_own(tmp_path: Path) -> None:
    rows = tiny(tmp_path, "telegram")
    assert [row["name"] for row in rows] == ["telegram in", "telegram out", "telegram typing"]
    assert all(row["floor"]["p50"] > 0 for row in rows)


def tiny(tmp_path: Path, name: str) -> list[dict[str, Any]]:
    """The rows of one measurement, each complete; `--tiny` fails only where something was not measured."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "benchmarks", "--tiny", "--only", name, "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(report.read_text())
    assert content["version"] == 1
    rows: list[dict[str, Any]] = content["rows"]
    for row in rows:
        assert row["failed"] == ""
        assert {target["key"] for target in row["targets"]} <= row["measured"].keys()
        assert all(value > 0 for value in row["measured"].values())
        assert row["what"] in done.stdout
    return rows


@pytest.mark.parametrize(
    ("figure", "binding", "verdict", "missed"),
    [
        (2.5, True, "ok", False),
        (2.6, True, "MISSED", True),
        (2.6, False, "above", False),
        (2.4, False, "within", False),
    ],
)
def test_a_target_is_held_to(figure: float, binding: bool, verdict: str, missed: bool) -> None:  # noqa: FBT001
    row = Row("name", "what", measured={"× floor": figure}, limits=(Limit("× floor", 2.5),), binding=binding)
    assert (row.verdict, row.missed) == (verdict, missed)
    assert row.lines()[0].startswith(verdict)


def test_at_least_is_not_at_most() -> None:
    assert not Limit("messages/s", 40, at_least=True).holds({"messages/s": 39.0})
    assert Limit("messages/s", 40, at_least=True).holds({"messages/s": 41.0})


def test_what_was_not_measured_is_missed() -> None:
    assert Row("name", "not measured", failed="it broke").missed
    assert not Row("name", "needs another channel").missed


def test_spread() -> None:
    assert spread([float(n) for n in range(100, 0, -1)]) == {"p50": 50.5, "p95": 95.0}
