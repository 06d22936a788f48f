"""What doctor says of an installed service, under a real systemd: its unit, its PATH, its secrets, its state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.doctor.patient import AGENT, Patient
from tests.service.systemd import UserManager, user_manager
from tests.telegram.remote import FakeTelegram, separate


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[UserManager]:
    with user_manager() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.runtime))
        yield made


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with separate() as fake:
        yield fake


class Ward:
    """A patient with a service, and where its unit is."""

    def __init__(self, patient: Patient, manager: UserManager, telegram: FakeTelegram) -> None:
        self.patient = patient
        self.manager = manager
        self.telegram = telegram
        self.unit = Path(patient.env["HOME"]) / ".config/systemd/user/push.service"
        self.other = patient.bin.parent / "nvm"
        self.other.mkdir()
        self.configure(f'bot_token = "{telegram.token}"')
        self.shell = patient.env["PATH"]
        patient.program("loginctl", "#!/bin/sh\necho Linger=yes\n")

    def configure(self, token: str) -> None:
        self.patient.configure(
            *('agent = "command"', 'command = ["agent"]', "[telegram]", "allow_user_ids = [7]", token),
            f'base_url = "{self.telegram.url}"',
            channel="telegram",
        )

    def install(self) -> None:
        self.patient.examine(after="push service install")


@pytest.fixture
def ward(manager: UserManager, patient: Patient, telegram: FakeTelegram) -> Ward:
    patient.env["XDG_RUNTIME_DIR"] = str(manager.runtime)
    return Ward(patient, manager, telegram)


def an_old_unit(ward: Ward) -> None:
    ward.install()
    ward.unit.write_text(ward.unit.read_text().replace("KillMode=", "KillMode=control-group\n#"))


def a_stopped_service(ward: Ward) -> None:
    ward.install()
    ward.manager.done("stop", "push.service")


def a_disabled_service(ward: Ward) -> None:
    ward.install()
    ward.manager.done("disable", "push.service")
    ward.manager.done("daemon-reload")


def an_agent_of_this_shell(ward: Ward) -> None:
    """As with nvm: a folder that was put on PATH after the service was installed."""
    ward.install()
    (ward.patient.bin / "agent").unlink()
    program = ward.other / "agent"
    program.write_text(AGENT)
    program.chmod(0o755)
    ward.patient.env["PATH"] = f"{ward.other}:{ward.shell}"


def a_token_of_this_shell(ward: Ward) -> None:
    ward.install()
    ward.configure("")
    ward.patient.env["TELEGRAM_BOT_TOKEN"] = ward.telegram.token


def a_user_who_logs_out(ward: Ward) -> None:
    ward.install()
    mark = ward.patient.bin / "lingers"
    script = f'[ "$1" = enable-linger ] && touch {mark}\n[ -e {mark} ] && echo Linger=yes\ntrue\n'
    ward.patient.program("loginctl", f"#!/bin/sh\n{script}")


@pytest.mark.parametrize(
    ("code", "spoil", "hint"),
    [
        ("unit_outdated", an_old_unit, "push service install"),
        ("service_stopped", a_stopped_service, "push service install"),
        ("service_disabled", a_disabled_service, "push service install"),
        ("service_path", an_agent_of_this_shell, "push service install"),
        ("service_token", a_token_of_this_shell, "(umask 077; "),
        ("service_ends_at_logout", a_user_who_logs_out, "loginctl enable-linger"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_the_printed_command_mends_the_service(ward: Ward, code: str, spoil: Callable[[Ward], None], hint: str) -> None:
    spoil(ward)
    found = ward.patient.examine().one(code)
    assert found["hint"].startswith(hint)
    assert ward.telegram.token not in str(found)
    cured = ward.patient.examine(after=found["hint"])
    assert [item for item in cured.items if item["check"] == "service"] == [
        {
            "check": "service",
            "status": "ok",
            "code": "",
            "message": "push of systemd is active, and begins with the machine",
            "hint": "",
        }
    ]


def test_a_service_of_another_home_is_named_and_not_judged(ward: Ward, tmp_path: Path) -> None:
    ward.install()
    ward.manager.done("stop", "push.service")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    home = ward.patient.env["PUSH_HOME"]
    ward.patient.env["PUSH_HOME"] = str(elsewhere)
    found = ward.patient.examine()
    assert found.one("service_elsewhere")["hint"] == f"env PUSH_HOME={home} push doctor"
    assert found.of("service_stopped") == []


def test_without_a_service_one_line_says_so(ward: Ward) -> None:
    [item] = [item for item in ward.patient.examine().items if item["check"] == "service"]
    assert (item["status"], item["message"]) == ("ok", "none is installed")
