"""`push service` on a Mac, as far as a stand-in for `launchctl` can tell: nothing here has run on one."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from push.cli.main import main

LAUNCHCTL = Path(__file__).with_name("launchctl")


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path) -> Path:
    """A home on a machine that takes itself for a Mac."""
    (home / "config.toml").write_text('channels = ["local"]\nagent = "command"\ncommand = ["cat"]\n')
    (tmp_path / "launchctl").symlink_to(LAUNCHCTL)
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LAUNCHD_STATE", str(tmp_path / "launchd"))
    monkeypatch.setattr(sys, "platform", "darwin")
    return home


def test_from_nothing_to_nothing(mac: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["service", "status"]) == 1
    assert main(["service", "install"]) == 0
    assert capfd.readouterr().err == ""
    assert main(["service", "status", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found == found | {"supervisor": "launchd", "active": True, "current": True, "survives_logout": False}
    log = mac / "logs" / "push.service.log"
    assert "Push is polling" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert main(["service", "install"]) == 0
    assert main(["service", "uninstall"]) == 0
    assert main(["service", "status"]) == 1
    assert (mac / "push.db").exists()


def test_what_it_cannot_do(mac: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["service", "install", "--hardened"]) == 2
    assert main(["service", "install", "--linger"]) == 1
    assert main(["service", "status"]) == 1
    assert "only systemd can harden a service" in capfd.readouterr().err
