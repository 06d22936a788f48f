"""systemd as the supervisor of a user's service: the unit, and what `systemctl --user` and `loginctl` are asked.

Owns how a value is written into a unit and read back; does not own what the unit says (`deploy/systemd`).
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from push import clock, environ, programs
from push.errors import Failed
from push.supervisors.base import Service, State, check_text, template, unreachable

_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
#: systemd refuses a program with one of these in its path, but takes them in arguments.
_NOT_IN_PROGRAM = frozenset("\"'\\")
_ENV = "/usr/bin/env"
_DROP_IN = "50-push-hardening.conf"
_START_SECONDS = 90.0  # longer than TimeoutStopSec: a restart waits for the end
_ASKED = "LoadState,UnitFileState,ActiveState,SubState,MainPID,ActiveEnterTimestamp,ExecMainCode,ExecMainStatus,Result"
_KILLED = frozenset({"2", "3"})  # CLD_KILLED, CLD_DUMPED


class Systemd:
    """The manager of this user's services."""

    name = "systemd"

    def __init__(self) -> None:
        config = environ.get("XDG_CONFIG_HOME")
        root = Path(config) if config and config.startswith("/") else Path("~/.config").expanduser()
        self._folder = root / "systemd" / "user"

    def answers(self) -> bool:
        """Whether the manager can be asked."""
        done = programs.run(["systemctl", "--user", "show", "--property=Version"], env=_environment())
        return isinstance(done, programs.Completed) and done.code == 0

    def files(self, service: Service) -> dict[Path, str]:
        """The unit, and with `hardened` its drop-in."""
        values = {
            "NAME": service.name,
            "RUN": _command(service.argv),
            "RELOAD": _command(service.reload),
            "FOLDER": check_text(str(service.folder)).replace("%", "%%"),
            "ENVIRONMENT": "\n".join(f"Environment={_word(f'{k}={v}')}" for k, v in service.environment.items()),
        }
        made = {self._unit(service.name): re.sub("@([A-Z]+)@", lambda m: values[m[1]], template("push.service"))}
        if service.hardened:
            made[self._drop_in(service.name)] = template("hardening.conf")
        return made

    def installed(self, name: str) -> Service | None:
        """As the unit and what overrides it say; a variable from the manager or an EnvironmentFile is not known."""
        unit = self._unit(name)
        if not unit.is_file():
            return None
        overrides = sorted((unit.parent / f"{unit.name}.d").glob("*.conf"))
        return self._read(name, [unit, *overrides])

    def is_current(self, service: Service) -> bool:
        """Overrides of the owner's own do not count."""
        found = self._read(service.name, [self._unit(service.name)])
        environment = dict(service.environment) | {k: v for k, v in found.environment.items() if k == "PATH"}
        wanted = replace(service, environment=environment, hardened=found.hardened)
        return all(_text(path) == text for path, text in self.files(wanted).items())

    def surroundings(self, service: Service) -> dict[str, str]:
        """The manager's variables, the unit's, and those of its environment file, which overrides them."""
        given = dict(_assignments(self._ask("show-environment")))
        file = Path("~/.config").expanduser() / service.name / "env"
        own = {name: "".join(_words(value)[:1]) for name, value in _assignments(_text(file))}
        return given | dict(service.environment) | own

    def loads_secrets(self, name: str) -> bool:
        """Whether an override has a LoadCredential= or the like."""
        overrides = (self._folder / f"{name}.service.d").glob("*.conf")
        return any(re.search("^(Load|Set)Credential", _text(file), re.MULTILINE) for file in overrides)

    def install(self, service: Service) -> None:
        """Write the unit, enable it, start it (anew)."""
        if not service.hardened:
            self._drop_in(service.name).unlink(missing_ok=True)
        for path, text in self.files(service).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{path.name}.{os.getpid()}")
            beside.write_text(text, "utf-8")
            beside.replace(path)
        unit = f"{service.name}.service"
        self._ask("daemon-reload")
        self._ask("enable", unit)
        self._ask("reset-failed", unit, tolerate=True)  # knows nothing of a unit that never ran
        self._ask("restart", unit)

    def uninstall(self, name: str) -> bool:
        """Stop and disable it, remove the unit and our drop-in; overrides of the owner's own stay."""
        unit = self._unit(name)
        there = unit.is_file()
        if there:
            self._ask("disable", "--now", unit.name)
        self._drop_in(name).unlink(missing_ok=True)
        unit.unlink(missing_ok=True)
        with suppress(OSError):  # not empty: the owner's overrides
            self._drop_in(name).parent.rmdir()
        if there:
            self._ask("daemon-reload")
            self._ask("reset-failed", unit.name, tolerate=True)
        return there

    def state(self, name: str) -> State:
        """What `systemctl show` says of it."""
        shown = self._ask("show", f"--property={_ASKED}", f"{name}.service")
        found = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
        active = found.get("ActiveState") in {"active", "reloading"}
        failed = found.get("ActiveState") == "failed" or found.get("SubState") == "auto-restart"
        return State(
            installed=self._unit(name).is_file(),
            enabled=found.get("UnitFileState") == "enabled",
            active=active,
            pid=int(found.get("MainPID") or 0) or None,
            since=_instant(found.get("ActiveEnterTimestamp", "")) if active else None,
            failed=failed,
            why=_trouble(found) if failed else "",
        )

    def log_command(self, name: str) -> str:
        """The user's journal."""
        return f"journalctl --user --unit={name} --lines=20 --output=cat --no-pager"

    def survives_logout(self) -> bool:
        """Whether this user lingers. Without logind there is no logout that would end anything."""
        done = programs.run(["loginctl", "show-user", str(os.geteuid()), "--property=Linger"])
        return isinstance(done, programs.Completed) and "Linger=yes" in done.out

    def survive_logout(self) -> None:
        """Let this user linger."""
        done = programs.run(["loginctl", "enable-linger"])
        if not isinstance(done, programs.Completed) or done.code != 0:
            raise Failed(
                "lingering could not be turned on",
                why=_complaint(done),
                hint=f"sudo loginctl enable-linger {_user()}",
                code="linger_refused",
            )

    def _ask(self, *words: str, tolerate: bool = False) -> str:
        done = programs.run(["systemctl", "--user", *words], seconds=_START_SECONDS, env=_environment())
        if isinstance(done, programs.Completed) and (done.code == 0 or (tolerate and self.answers())):
            return done.out
        if not self.answers():
            raise unreachable("systemd's manager of this user", _complaint(done))
        raise Failed(
            f"systemctl --user {shlex.join(words)} failed",
            why=_complaint(done),
            hint=f"systemctl --user status {words[-1]}"
            if words[-1].endswith(".service")
            else "systemctl --user status",
            code="supervisor_refused",
        )

    def _unit(self, name: str) -> Path:
        return self._folder / f"{name}.service"

    def _drop_in(self, name: str) -> Path:
        return self._folder / f"{name}.service.d" / _DROP_IN

    def _read(self, name: str, files: list[Path]) -> Service:
        commands: dict[str, tuple[str, ...]] = {"ExecStart": (), "ExecReload": ()}
        environment: dict[str, str] = {}
        folder = Path("~").expanduser()
        for key, value in (pair for file in files for pair in _assignments(_text(file))):
            if key in commands:
                words = tuple(_words(value.lstrip("@-:+!")))
                commands[key] = words[1:] if words[:1] == (_ENV,) else words
            elif key == "WorkingDirectory" and value:
                folder = Path(_expanded(value.lstrip("-").replace("~", "%h", 1)))
            elif key == "Environment":
                environment = environment | dict(w.split("=", 1) for w in _words(value) if "=" in w) if value else {}
        hardened = self._drop_in(name).is_file()
        return Service(name, commands["ExecStart"], folder, environment, commands["ExecReload"], hardened)


def _environment() -> dict[str, str]:
    """Ours, with the folder of the manager's socket: `su` and cron do not set it. Instants are in UTC."""
    ours = environ.snapshot() | {"TZ": "UTC", "LC_ALL": "C"}
    runtime = f"/run/user/{os.geteuid()}"
    if not ours.get("XDG_RUNTIME_DIR") and Path(runtime).is_dir():
        ours["XDG_RUNTIME_DIR"] = runtime
    return ours


def _command(argv: tuple[str, ...]) -> str:
    """The `:` keeps `$` what it is."""
    words = (_ENV, *argv) if _NOT_IN_PROGRAM & set(argv[0]) else argv
    return ":" + " ".join(map(_word, words))


def _word(text: str) -> str:
    check_text(text)
    if _PLAIN.fullmatch(text):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{quoted}"'


def _words(value: str) -> list[str]:
    """The words of a setting, unquoted; what is quoted wrongly is one word."""
    try:
        return [_expanded(word) for word in shlex.split(value)]
    except ValueError:
        return [value]


def _expanded(text: str) -> str:
    """The two specifiers that stand in units of Push; others are left as they are."""
    home = str(Path("~").expanduser())
    return re.sub("%[%h]", lambda m: "%" if m[0] == "%%" else home, text)


def _assignments(text: str) -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", " ", text).splitlines()
    pairs = (line.split("=", 1) for line in lines if "=" in line and line.lstrip()[:1] not in "#;")
    return [(key.strip(), value.strip()) for key, value in pairs]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _instant(shown: str) -> int | None:
    """`Mon 2026-11-30 19:16:50 UTC`; None where it never was."""
    with suppress(ValueError):
        return clock.to_ms(datetime.strptime(shown, "%a %Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC))
    return None


def _trouble(found: dict[str, str]) -> str:
    status, result = found.get("ExecMainStatus", "0"), found.get("Result", "")
    if status == "0":
        return f"systemd: {result}"
    if found.get("ExecMainCode") in _KILLED:
        return f"ended by signal {status} ({result})"
    return f"ended with exit code {status} ({result})"


def _complaint(done: programs.Completed | programs.Missing | programs.TimedOut) -> str:
    if isinstance(done, programs.Missing):
        return f"there is no program {done.name} on PATH"
    return done.complaint if isinstance(done, programs.Completed) else f"no answer within {done.seconds:.0f} s"


def _user() -> str:
    return environ.get("USER") or str(os.geteuid())
