"""The property list, and what `launchctl` is asked: with a stand-in, as nothing here has run on a Mac."""

from __future__ import annotations

import plistlib
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from push.errors import DependencyError, Failed, UsageError
from push.supervisors.base import Service
from push.supervisors.launchd import Launchd

LAUNCHCTL = Path(__file__).resolve().parents[2] / "service" / "launchctl"
ENDS_WELL = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); signal.pause()"


@pytest.fixture
def launchd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Launchd:
    """With the stand-in first on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "launchctl").symlink_to(LAUNCHCTL)
    monkeypatch.setenv("PATH", f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("LAUNCHD_STATE", str(tmp_path / "launchd"))
    return Launchd()


def service(folder: Path, *argv: str) -> Service:
    """A service that waits for its end."""
    return Service("push", argv or (sys.executable, "-c", ENDS_WELL), folder, {"PUSH_HOME": str(folder), "PATH": "/b"})


def test_the_property_list_says_all_that_matters(tmp_path: Path) -> None:
    folder = tmp_path / 'a <b> & "ü"'
    (path,) = Launchd().files(service(folder))
    text = Launchd().files(service(folder))[path]
    assert path == Path("~/Library/LaunchAgents/com.owainlewis.push.plist").expanduser()
    found = plistlib.loads(text.encode())
    log = str(folder / "logs" / "push.service.log")
    assert found == {
        "Label": "com.owainlewis.push",
        "ProgramArguments": [sys.executable, "-c", ENDS_WELL],
        "WorkingDirectory": str(folder),
        "EnvironmentVariables": {"PUSH_HOME": str(folder), "PATH": "/b"},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "AbandonProcessGroup": True,
        "ExitTimeOut": 60,
        "ProcessType": "Interactive",
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }


@pytest.mark.skipif(not shutil.which("plutil"), reason="plutil is a program of macOS")
def test_plutil_takes_it(tmp_path: Path) -> None:
    ((_, text),) = Launchd().files(service(tmp_path)).items()
    (tmp_path / "x.plist").write_text(text)
    subprocess.run(["plutil", "-lint", str(tmp_path / "x.plist")], check=True)


def test_installed_running_renewed_and_gone(launchd: Launchd, tmp_path: Path) -> None:
    wanted = service(tmp_path)
    assert not launchd.state("push").installed
    launchd.install(wanted)
    first = launchd.state("push")
    assert (first.installed, first.enabled, first.active, first.failed) == (True, True, True, False)
    assert launchd.installed("push") == wanted
    assert launchd.is_current(wanted)
    assert not launchd.is_current(service(tmp_path, "/newer"))
    assert stat.S_IMODE((tmp_path / "logs" / "push.service.log").stat().st_mode) == 0o600
    launchd.install(wanted)
    assert launchd.state("push").pid not in {first.pid, None}
    assert launchd.uninstall("push")
    assert not launchd.state("push").installed
    assert not launchd.uninstall("push")


def test_one_that_ended_says_how(launchd: Launchd, tmp_path: Path) -> None:
    launchd.install(service(tmp_path, sys.executable, "-c", "print('why', flush=True); raise SystemExit(3)"))
    while launchd.state("push").active:
        pass
    state = launchd.state("push")
    assert (state.failed, state.why) == (True, "ended with exit code 3")
    assert "push.service.log" in launchd.log_command("push")
    launchd.uninstall("push")


def test_without_a_session_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError, match="launchd cannot be asked"):
        Launchd().state("push")
    with pytest.raises(DependencyError, match="launchd cannot be asked"):
        Launchd().install(service(tmp_path))


def test_what_launchd_cannot_do_is_refused(launchd: Launchd, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only systemd"):
        launchd.files(Service("push", ("/p",), tmp_path, {}, hardened=True))
    with pytest.raises(Failed, match="logs out"):
        launchd.survive_logout()
    assert not launchd.survives_logout()


def test_its_surroundings_are_not_those_of_the_shell(launchd: Launchd, tmp_path: Path) -> None:
    found = launchd.surroundings(service(tmp_path))
    assert found["PATH"] == "/b"
    assert "LAUNCHD_STATE" not in found
