"""What the commands of the service print under `--json`, with a stand-in for a supervisor."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.supervisors import registry
from push.supervisors.launchd import Launchd
from tests.docs.pages import ROOT
from tests.docs.test_json import Teller

LAUNCHCTL = ROOT / "tests" / "service" / "launchctl"


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Teller:
    return Teller(capsys)


def test_a_service_comes_and_goes(home: Path, tell: Teller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "launchctl").symlink_to(LAUNCHCTL)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("LAUNCHD_STATE", str(tmp_path / "launchd"))
    monkeypatch.setattr(registry, "usual", Launchd)
    (home / "config.toml").write_text('channels = ["local"]\nagent = "command"\ncommand = ["cat"]\n')
    assert tell("service status", code=1)["installed"] is False
    tell("service install", "--print")
    tell("service install")
    assert tell("service status")["active"] is True
    assert [item["outcome"] for item in tell("reload")["items"]] == ["taken"]
    assert tell("service uninstall")["removed"] is True
    assert tell("service uninstall")["removed"] is False
