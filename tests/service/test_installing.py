"""`push service` against the real systemd: what it installs, what it refuses, and what it says next."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from push.cli import service
from push.cli.main import main
from push.supervisors.base import Service
from push.supervisors.systemd import Systemd
from tests.channels.scene import Scene
from tests.crash.site import Process, Site
from tests.service.stage import OWNER, UNIT, override, until_polling
from tests.service.systemd import UserManager

AWKWARD = "it's 100% of $HOME/ü 🙂"


def units() -> Path:
    """Where the user's units lie."""
    return Path("~/.config/systemd/user").expanduser()


def refused(process: Process, code: int) -> list[str]:
    """The three lines of a command that ended with this code."""
    assert process.wait() == code, process.err
    return [line.partition(": ")[2] for line in process.err.splitlines()[-3:]]


def status(place: Site) -> dict[str, object]:
    """What `push service status --json` says."""
    found: dict[str, object] = json.loads(place.run("service", "status", "--json").out)
    return found


def test_from_nothing_to_nothing(manager: UserManager, place: Scene) -> None:
    assert place.run("service", "status").wait() == 1
    told = json.loads(place.done("service", "install", "--json").out)
    found = status(place)
    assert (told["pid"], told["home"], told["supervisor"]) == (found["pid"], str(place.root), "systemd")
    assert found == found | {"installed": True, "enabled": True, "active": True, "current": True, "why": None}
    assert found["home"] == str(place.root)
    assert str(found["since"]).endswith("Z")
    assert manager.show(UNIT, "UnitFileState") == "enabled"
    assert manager.show(UNIT, "NeedDaemonReload") == "no"
    again = json.loads(place.done("service", "install", "--json").out)
    assert again["pid"] == until_polling(manager, place) != told["pid"]
    place.done("service", "uninstall")
    assert not [path for path in units().rglob("*") if "push" in path.name]
    assert place.config.exists()
    assert place.db.exists()
    assert status(place) == status(place) | {"installed": False, "active": False, "current": None, "home": None}
    assert "There is no service push" in place.done("service", "uninstall").out


def test_print_changes_nothing(manager: UserManager, place: Scene) -> None:
    shown = place.done("service", "install", "--print")
    assert "KillMode=process" in shown.out
    assert str(units() / UNIT) in shown.err
    assert not units().exists()


def test_the_service_finds_what_the_unit_says(
    manager: UserManager, place: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_SHELL", "1")
    place.done("service", "install")
    folder = Path(f"/proc/{until_polling(manager, place)}")
    given = dict(pair.split("=", 1) for pair in (folder / "environ").read_text().split("\0") if pair)
    assert given["PUSH_HOME"] == str(place.root)
    assert "OF_THE_SHELL" not in given
    wanted = Systemd().installed("push")
    assert wanted is not None
    found = Systemd().surroundings(wanted)
    assert {name: found.get(name) for name in ("PATH", "HOME", "DIARY")} == {
        n: given[n] for n in ("PATH", "HOME", "DIARY")
    }
    assert (folder / "cwd").resolve() == place.root
    state = (folder / "status").read_text()
    assert "Umask:\t0077" in state
    assert "NoNewPrivs:\t0" in state


def test_every_character_of_a_path_arrives(manager: UserManager, tmp_path: Path) -> None:
    folder = tmp_path / AWKWARD
    folder.mkdir(parents=True)
    program, seen = folder / 'say "hi"\\', folder / "seen"
    program.write_text(
        '#!/bin/sh\n{ pwd; printf "%s\\n" "$PUSH_HOME" "$@"; } >seen.new; mv seen.new seen; exec sleep 60\n'
    )
    program.chmod(0o755)
    arguments = (AWKWARD, "%h", "$$", "${X}", 'a"b', "\\x41", "it's", ";", "two  spaces", "")
    argv = (str(folder / "program"), *arguments)
    program.rename(folder / "program")
    Systemd().install(Service("push", argv, folder, {"PUSH_HOME": str(folder)}, argv))
    manager_sees(seen)
    assert seen.read_text().splitlines() == [str(folder), str(folder), *arguments]
    Systemd().uninstall("push")


def manager_sees(path: Path) -> None:
    """Wait for a file that a service writes."""
    subprocess.run(["timeout", "20", "sh", "-c", 'until [ -e "$0" ]; do sleep 0.02; done', str(path)], check=True)


def test_hardening_is_asked_for(manager: UserManager, place: Scene) -> None:
    for words, limit in ((("--hardened",), 1), ((), 1), (("--not-hardened",), 0)):
        place.done("service", "install", *words)
        state = Path(f"/proc/{until_polling(manager, place)}/status").read_text()
        assert f"NoNewPrivs:\t{limit}" in state
        assert status(place)["current"] is True
        place.telegram.say(OWNER, f"{words}")
    assert len(place.until_answered(OWNER, 3)) == 3


def test_a_token_of_this_shell_alone_is_carried_over(
    manager: UserManager, place: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = place.config.read_text()
    place.config.write_text(text.replace(f'bot_token = "{place.telegram.token}"\n', ""))
    assert refused(place.run("service", "install"), 3)[0] == "Telegram is on, and there is no bot token"
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", place.telegram.token)
    what, _, hint = refused(place.run("service", "install"), 3)
    assert what == "the service would find no bot token"
    assert not units().exists()
    file = Path("~/.config/push/env").expanduser()
    file.unlink()
    command, _, then = hint.partition(" && ")
    subprocess.run(["sh", "-c", command], check=True)
    assert then == "push service install"
    assert file.stat().st_mode & 0o077 == 0
    monkeypatch.delenv("TELEGRAM_BOT_TOKEN")
    shown = place.done("service", "install")
    assert place.telegram.token not in shown.out + shown.err + (units() / UNIT).read_text()


def test_a_token_that_systemd_loads(manager: UserManager, place: Scene, tmp_path: Path) -> None:
    place.config.write_text(place.config.read_text().replace(f'bot_token = "{place.telegram.token}"\n', ""))
    (tmp_path / "token").write_text(place.telegram.token + "\n")
    override("secret", f"LoadCredential=TELEGRAM_BOT_TOKEN:{tmp_path}/token")
    place.done("service", "install")
    place.telegram.say(OWNER, "hello")
    assert place.until_answered(OWNER) == ["re: hello"]
    environment = Path(f"/proc/{until_polling(manager, place)}/environ").read_text()
    assert place.telegram.token not in environment


def test_a_wrong_configuration_installs_nothing(manager: UserManager, place: Scene) -> None:
    place.config.write_text("agents = 1\n")
    refused(place.run("service", "install"), 3)
    place.config.unlink()
    refused(place.run("service", "install"), 3)
    assert not units().exists()


def test_a_refused_token_says_why_it_does_not_stay_up(
    manager: UserManager, place: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    override("said", f"StandardError=append:{tmp_path}/said")  # there is no journal here
    (tmp_path / "journalctl").write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    (tmp_path / "journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    place.configure(token="1234567:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    what, why, hint = refused(place.run("service", "install"), 1)
    said = dict(line.split(": ", 1) for line in (tmp_path / "said").read_text().splitlines()[-3:])
    assert what == "the service push is installed, but does not stay up"
    assert why.startswith(f"it ended with exit code 3 (exit-code): {said['error']}")
    assert hint == said["next"]


def test_an_agent_cannot(manager: UserManager, gated: Scene) -> None:
    gated.play(
        f"#!/bin/sh\nfor verb in install uninstall; do {sys.executable} -m push service $verb 2>&1 || true; done\n"
    )
    gated.done("service", "install")
    gated.telegram.say(OWNER, "try it")
    (answer,) = gated.until_answered(OWNER)
    assert "an agent's run cannot install a service" in answer
    assert "an agent's run cannot remove a service" in answer
    assert status(gated)["active"] is True


def test_a_foreground_gateway_is_in_the_way(manager: UserManager, place: Scene) -> None:
    foreground = place.serve("run")
    what, _, hint = refused(place.run("service", "install"), 6)
    assert f"`push run` runs in this home already (process {foreground.pid})" == what
    assert not units().exists()
    subprocess.run(["sh", "-c", hint], check=True)
    assert foreground.wait() == 0
    place.done("service", "install")


def test_a_service_of_another_home_is_left_alone(
    manager: UserManager, place: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place.done("service", "install")
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.toml").write_text('channels = ["local"]\nagent = "command"\ncommand = ["cat"]\n')
    second = place.start("service", "install", env={"PUSH_HOME": str(other)})
    what, _, hint = refused(second, 6)
    assert what == f"the service push runs another home: {place.root}"
    assert hint == "push service install --name push-2"
    third = place.start(*hint.split()[1:], env={"PUSH_HOME": str(other)})
    assert third.wait() == 0, third.err
    assert manager.show("push-2.service", "ActiveState") == manager.show(UNIT, "ActiveState") == "active"


def test_an_outdated_unit_is_told_and_replaced(manager: UserManager, place: Scene) -> None:
    place.done("service", "install")
    unit = units() / UNIT
    shipped = unit.read_text()
    unit.write_text(shipped.replace("KillMode=process", "KillMode=mixed"))
    shown = place.run("service", "status")
    assert "not what this version writes. Next: push service install" in shown.out
    place.done("service", "install")
    assert unit.read_text() == shipped


def test_lingering(manager: UserManager, place: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "loginctl").write_text(
        f"#!/bin/sh\nif [ $1 = enable-linger ]; then touch {tmp_path}/on\n"
        f"elif [ -e {tmp_path}/on ]; then echo Linger=yes; else echo Linger=no; fi\n"
    )
    (tmp_path / "loginctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert "loginctl enable-linger" in place.done("service", "install").err
    assert status(place)["survives_logout"] is False
    assert place.done("service", "install", "--linger").err == ""
    assert status(place)["survives_logout"] is True


def test_no_manager_to_ask(place: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    for words in (["install"], ["uninstall"], ["status"]):
        what, _, hint = refused(place.run("service", *words), 4)
        assert what == "systemd cannot be asked here"
        assert hint in {"push run", "loginctl enable-linger"}


def test_no_session_on_a_machine_of_systemd(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(service, "_BOOTED_WITH_SYSTEMD", tmp_path)
    assert main(["service", "status"]) == 4
    assert "next: loginctl enable-linger" in capsys.readouterr().err


def test_a_home_by_another_name_is_the_same(manager: UserManager, place: Scene, tmp_path: Path) -> None:
    place.done("service", "install")
    (tmp_path / "link").symlink_to(place.root)
    again = place.start("service", "install", env={"PUSH_HOME": str(tmp_path / "link")})
    assert again.wait() == 0, again.err


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_finds_nothing_wrong(manager: UserManager, place: Scene) -> None:
    place.done("service", "install", "--hardened")
    analyze = ["systemd-analyze", "--user", "verify", str(units() / UNIT)]
    verified = subprocess.run(analyze, capture_output=True, text=True, check=False)
    assert (verified.returncode, [line for line in verified.stderr.splitlines() if "push" in line]) == (0, [])
