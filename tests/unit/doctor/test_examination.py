"""No check can hang or break the others, what repairs is its owner's alone, and every hint is a command."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from push.agents import tree
from push.cli.main import main
from push.doctor import examination, machine
from push.doctor.findings import Finding, fine


@pytest.fixture
def healthy(home: Path) -> Path:
    (home / "assistant").mkdir(mode=0o700)
    (home / "assistant" / "SOUL.md").write_text("Be kind.")
    config = home / "config.toml"
    config.write_text('channel = "local"\nassistant_root = "assistant"\nagent = "command"\ncommand = ["cat"]\n')
    config.chmod(0o600)
    return home


def items(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(capsys.readouterr().out)["items"]
    return found


def test_a_check_that_breaks_is_a_finding_without_its_text(
    healthy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks() -> Iterator[Finding]:
        raise ValueError("the text of a message")

    monkeypatch.setattr(machine, "timezone", breaks)
    assert main(["doctor", "--json"]) == 1
    found = items(capsys)
    [item] = [item for item in found if item["code"] == "unexpected"]
    assert (item["check"], item["status"]) == ("timezone", "failed")
    assert item["message"].startswith("unexpected ValueError at test_examination.py:")
    assert "the text" not in str(found)
    assert {"ledger", "state", "agent"} <= {item["check"] for item in found}


def test_what_the_system_refuses_a_check_is_no_defect(
    healthy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> Iterator[Finding]:
        raise PermissionError(errno.EACCES, "Permission denied", "/proc/1/mem")

    monkeypatch.setattr(machine, "timezone", refused)
    assert main(["doctor", "--json"]) == 1
    [item] = [item for item in items(capsys) if item["check"] == "timezone"]
    assert item["message"] == "Permission denied: /proc/1/mem"
    assert item["hint"]


def test_a_check_that_hangs_is_given_up_and_the_order_stays(
    healthy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = threading.Event()

    def hangs() -> Iterator[Finding]:
        gate.wait(60)
        yield fine("timezone", "at last")

    def wants(name: str, look: object) -> examination.Check:
        return examination.Check(name, look, seconds=0.1)  # type: ignore[arg-type]

    monkeypatch.setattr(examination, "_of_machine", lambda: [wants("timezone", hangs), wants("sqlite", machine.sqlite)])
    assert main(["doctor", "--json"]) == 1
    gate.set()
    found = items(capsys)
    [at] = [number for number, item in enumerate(found) if item["code"] == "no_end"]
    assert found[at]["check"] == "timezone"
    assert found[at + 1]["check"] == "sqlite"
    assert found[at]["hint"] == "push doctor"


@pytest.mark.parametrize("option", ["--fix", "--agents", "--delete-webhook"])
def test_an_agent_s_run_may_look_and_change_nothing(
    healthy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    monkeypatch.setenv(tree.MARK, str(healthy / "spool" / "t1-1"))
    healthy.chmod(0o755)
    assert main(["doctor", option]) == 6
    assert "an agent's run cannot" in capsys.readouterr().err
    assert healthy.stat().st_mode & 0o777 == 0o755
    assert main(["doctor", "--json"]) == 1


def test_an_agent_s_run_repairs_nothing_where_the_configuration_is_wrong_too(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (healthy / "config.toml").write_text("agnet = 1")
    monkeypatch.setenv(tree.MARK, str(healthy / "spool" / "t1-1"))
    assert main(["doctor", "--fix"]) == 6


def test_without_any_home_folder_the_next_command_names_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown(_uid: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert main(["doctor", "--json"]) == 1
    found = items(capsys)
    assert [item["check"] for item in found] == ["home", "config"]
    assert found[0]["hint"] == 'export PUSH_HOME="$PWD/.push"'
