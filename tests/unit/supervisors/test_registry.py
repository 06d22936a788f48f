"""What Push wants a supervisor to run."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from push.config import Settings, load, load_or_default
from push.errors import ConfigError
from push.supervisors import registry
from push.supervisors.registry import home_of, renewed, service_of


@pytest.fixture
def settings(home: Path) -> Settings:
    """Of a home with an agent outside PATH."""
    agent = home / "opt" / "agent"
    agent.parent.mkdir()
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o755)
    (home / "config.toml").write_text(f'channels = ["local"]\nagent = "command"\ncommand = ["{agent}"]\n')
    return load()


def test_it_runs_this_program_on_this_configuration(settings: Settings, home: Path) -> None:
    service = service_of(settings)
    config = ("--config", str(home / "config.toml"))
    assert service.argv == (sys.executable, "-P", "-m", "push", "run", *config)
    assert service.reload == (sys.executable, "-P", "-m", "push", "reload", *config)
    assert (service.name, service.folder, service.environment["PUSH_HOME"]) == ("push", home, str(home))


def test_path_has_absolute_folders_that_exist_each_once(settings: Settings, home: Path, tmp_path: Path) -> None:
    given = f"{tmp_path}:relative::/nowhere:{tmp_path}:/usr/bin:{tmp_path}/file"
    (tmp_path / "file").touch()
    folders = service_of(settings, path=given).environment["PATH"].split(":")
    assert folders[:3] == [str(tmp_path), "/usr/bin", str(home / "opt")]
    assert folders[-1] == str(Path(sys.executable).parent)
    assert len(folders) == len(set(folders))


def test_path_is_that_of_the_caller(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin")
    assert service_of(settings).environment["PATH"].startswith(f"{tmp_path}:/usr/bin:")


def test_the_embedded_default_is_no_service(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        service_of(load_or_default())
    assert caught.value.hint == "push init"


def test_renewed_keeps_what_is_the_services_own(settings: Settings, home: Path) -> None:
    wanted = service_of(settings, "other", path="/usr/bin", hardened=True)
    assert renewed(wanted) == wanted
    older = replace(wanted, argv=("/old/python", "-m", "push", "run", *wanted.argv[-2:]), reload=())
    assert renewed(older) == wanted


def test_the_home_of_a_unit_without_the_variable_is_its_folder(settings: Settings, home: Path) -> None:
    wanted = service_of(settings)
    assert home_of(wanted) == home_of(replace(wanted, environment={})) == home


def test_no_supervisor_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert registry.here() is None
