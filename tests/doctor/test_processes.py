"""Processes of a home: a stopped one goes on by the printed command; one whose pid is another's is left alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doctor.patient import Patient


@pytest.fixture
def running(patient: Patient) -> Iterator[subprocess.Popen[str]]:
    """The patient's gateway."""
    process = subprocess.Popen([str(patient.bin / "push"), "run"], env=patient.env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "Push is " in process.stderr.readline()
    yield process
    process.send_signal(signal.SIGCONT)
    process.terminate()
    process.communicate(timeout=30)


def silence(home: Path) -> None:
    """Let the loops' last sign of life be three minutes old, as after three minutes of SIGSTOP."""
    for file in home.glob("run/consumer-*.role"):
        content = json.loads(file.read_text())
        content["loops"] = {name: [at - 180_000, note] for name, (at, note) in content["loops"].items()}
        file.write_text(json.dumps(content))


def test_a_stopped_process_goes_on_by_the_printed_command(
    running: subprocess.Popen[str], patient: Patient, home: Path
) -> None:
    examined = patient.examine()
    assert examined.of("process_stopped") == []
    assert [item["message"] for item in examined.items if item["check"] == "processes"] == [f"push run ({running.pid})"]
    running.send_signal(signal.SIGSTOP)
    silence(home)
    found = patient.examine().one("process_stopped")
    assert found["hint"] == f"kill -CONT {running.pid}"
    assert patient.examine(after=found["hint"]).of("process_stopped") == []


def test_a_channel_that_nobody_reads_is_named(patient: Patient) -> None:
    assert patient.examine().of("no_gateway") == []
    patient.configure(
        "[telegram]",
        f'bot_token = "123456789:{"A" * 35}"',
        'base_url = "http://127.0.0.1:1"',
        channel="telegram",
    )
    found = patient.examine().one("no_gateway")
    assert (found["status"], found["hint"]) == ("warning", "push run")
    assert "nobody reads telegram" in found["message"]


def test_a_loop_that_hangs_is_named_with_its_process(
    running: subprocess.Popen[str], patient: Patient, home: Path
) -> None:
    silence(home)
    found = patient.examine().of("process_silent")
    assert [item["hint"] for item in found] in ([f"kill {running.pid}"], [])  # or it has beaten meanwhile


def test_c16_a_stale_pid_that_is_another_program_s_is_no_finding_and_is_left_alone(
    patient: Patient, home: Path
) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (home / "run").mkdir(mode=0o700)
    for name in ("poll", "consumer-0"):
        role = home / "run" / f"{name}.role"
        content = {"pid": stranger.pid, "command": "push run", "started_at": 1, "loops": {"sweep": [1, "x"]}}
        role.write_text(json.dumps(content))
        role.chmod(0o600)
    diagnosis = patient.examine("--fix")
    [item] = [item for item in diagnosis.items if item["check"] == "processes"]
    assert (item["status"], item["message"]) == ("ok", "none runs; 2 ended, and what they left is harmless")
    assert stranger.poll() is None
    stranger.communicate(b"\n")
    assert stranger.returncode == 0


def test_a_configuration_that_is_not_in_effect_takes_effect_by_the_printed_command(
    running: subprocess.Popen[str], patient: Patient
) -> None:
    assert patient.examine().of("not_in_effect") == []
    config = patient.home / "config.toml"
    config.write_text(config.read_text() + "turns_workers = 8\n")
    found = patient.examine().one("not_in_effect")
    assert found["hint"] == "push reload"
    assert patient.examine(after=found["hint"]).of("not_in_effect") == []
