"""How a service is written into a unit, and read back. What systemd makes of it: tests/service."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.errors import ConfigError
from push.supervisors.base import Service
from push.supervisors.systemd import Systemd

AWKWARD = ("/opt/py", "run", "a b", "50%h", "$HOME", "it's", 'say "hi"', "back\\slash", "ü🙂", ";", "a=b")


def service(folder: Path, argv: tuple[str, ...] = ("/opt/py", "run"), **more: str) -> Service:
    """A service with these variables."""
    return Service("push", argv, folder, {"PUSH_HOME": str(folder), **more}, (*argv[:1], "reload"))


def write(systemd: Systemd, wanted: Service) -> Path:
    """Write its files; the path of the unit."""
    for path, text in systemd.files(wanted).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return next(iter(systemd.files(wanted)))


@pytest.mark.parametrize("folder", ["/home/o'brien/my push", "/srv/100%/$x", "/srv/ü 🙂", '/srv/"q"'])
def test_what_is_written_is_read_back(folder: str) -> None:
    systemd, wanted = Systemd(), service(Path(folder), AWKWARD, PATH="/a b:/c%d", QUOTE='"')
    write(systemd, wanted)
    assert systemd.installed("push") == wanted
    assert systemd.is_current(wanted)


@pytest.mark.parametrize("name", ["/opt/it's/py", "/opt/back\\slash/py", '/opt/"q"/py'])
def test_a_program_that_systemd_refuses_is_started_by_env(name: str) -> None:
    systemd, wanted = Systemd(), service(Path("/srv"), (name, "run"))
    assert "ExecStart=:/usr/bin/env " in write(systemd, wanted).read_text()
    assert systemd.installed("push") == wanted


@pytest.mark.parametrize("folder", ["/srv/new\nline", "/srv/edge ", "/srv/edge\\", "/srv/\udcff", "/srv/\x1b"])
def test_a_path_that_no_unit_can_hold_is_refused(folder: str) -> None:
    with pytest.raises(ConfigError, match="cannot stand in a service's unit"):
        Systemd().files(service(Path(folder)))


def test_the_units_folder_follows_the_owners_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Path("~/.config/systemd/user/push.service").expanduser() in Systemd().files(service(Path("/srv")))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert tmp_path / "systemd" / "user" / "push.service" in Systemd().files(service(Path("/srv")))


def test_another_path_is_current_and_anything_else_is_not() -> None:
    systemd = Systemd()
    unit = write(systemd, service(Path("/srv"), PATH="/usr/bin"))
    assert systemd.is_current(service(Path("/srv"), PATH="/elsewhere"))
    assert not systemd.is_current(service(Path("/srv"), ("/opt/newer", "run"), PATH="/usr/bin"))
    assert not systemd.is_current(service(Path("/srv2"), PATH="/usr/bin"))
    unit.write_text(unit.read_text().replace("KillMode=process", "KillMode=mixed"))
    assert not systemd.is_current(service(Path("/srv"), PATH="/usr/bin"))


def test_an_override_of_the_owner_counts_in_what_runs_not_in_what_is_ours() -> None:
    systemd, wanted = Systemd(), service(Path("/srv"), PATH="/usr/bin")
    override = write(systemd, wanted).parent / "push.service.d" / "override.conf"
    override.parent.mkdir()
    override.write_text("[Service]\nEnvironment=PATH=/opt/bin:/usr/bin\n# Environment=PATH=/no\n")
    found = systemd.installed("push")
    assert found is not None
    assert found.environment == {"PUSH_HOME": "/srv", "PATH": "/opt/bin:/usr/bin"}
    assert systemd.is_current(wanted)
    assert not systemd.loads_secrets("push")
    override.write_text("[Service]\nEnvironment=\nLoadCredential=TELEGRAM_BOT_TOKEN:/secret\n")
    assert systemd.loads_secrets("push")
    found = systemd.installed("push")
    assert found is not None
    assert found.environment == {}


def test_a_unit_of_somebody_else_is_read_too() -> None:
    unit = Path("~/.config/systemd/user/push.service").expanduser()
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=-%h/bin/push run \\\n  --config %h/c.toml\nWorkingDirectory=~\n")
    found = Systemd().installed("push")
    home = Path("~").expanduser()
    assert found == Service("push", (f"{home}/bin/push", "run", "--config", f"{home}/c.toml"), home, {})


def test_nothing_installed() -> None:
    assert Systemd().installed("push") is None


def test_hardening_is_a_file_of_its_own() -> None:
    systemd, plain = Systemd(), service(Path("/srv"))
    hard = Service("push", plain.argv, plain.folder, plain.environment, plain.reload, hardened=True)
    unit, drop_in = systemd.files(hard)
    assert systemd.files(hard)[unit] == systemd.files(plain)[unit]
    assert "NoNewPrivileges=yes" in systemd.files(hard)[drop_in]
    write(systemd, hard)
    assert systemd.installed("push") == hard
    assert systemd.is_current(hard)
    drop_in.write_text("[Service]\n")
    assert not systemd.is_current(hard)
