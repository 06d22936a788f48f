"""launchd as the supervisor of a user's service: its property list, and what `launchctl` is asked.

Owns what is added to the template (`deploy/launchd`); does not own what stands in it. Never run on a Mac so far: what
launchd does is taken from its manual, and tested with a stand-in.
"""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import time
from pathlib import Path
from typing import Any

from push import clock, environ, programs
from push.errors import Failed, UsageError
from push.paths import make_private, open_private
from push.supervisors.base import Service, State, check_text, template, unreachable

_LABEL = "com.owainlewis."
_END_SECONDS = 75.0  # longer than ExitTimeOut
_LOOK_SECONDS = 0.2


class Launchd:
    """The agents of this user's desktop session."""

    name = "launchd"

    def __init__(self) -> None:
        self._folder = Path("~/Library/LaunchAgents").expanduser()
        self._domain = f"gui/{os.geteuid()}"

    def answers(self) -> bool:
        """Whether there is a session to ask about."""
        return self._try("print", self._domain) is not None

    def files(self, service: Service) -> dict[Path, str]:
        """The property list. Raises UsageError for `hardened`, which launchd has no word for."""
        if service.hardened:
            why = "launchd has no such limits"
            raise UsageError("only systemd can harden a service", why=why, hint="push service install")
        log = str(service.folder / "logs" / f"{service.name}.service.log")
        made: dict[str, Any] = plistlib.loads(template("com.owainlewis.push.plist").encode()) | {
            "Label": _LABEL + service.name,
            "ProgramArguments": [check_text(word) for word in service.argv],
            "WorkingDirectory": check_text(str(service.folder)),
            "EnvironmentVariables": {name: check_text(value) for name, value in service.environment.items()},
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
        return {self._plist(service.name): plistlib.dumps(made).decode()}

    def installed(self, name: str) -> Service | None:
        """As the property list says; None also where it is none."""
        found = self._read(name)
        argv, folder = found.get("ProgramArguments"), found.get("WorkingDirectory")
        if not self._plist(name).is_file():
            return None
        environment = {str(key): str(value) for key, value in dict(found.get("EnvironmentVariables") or {}).items()}
        return Service(name, tuple(map(str, argv or ())), Path(str(folder or "~")).expanduser(), environment)

    def is_current(self, service: Service) -> bool:
        """Whether the property list says the same, but for PATH."""
        wanted = plistlib.loads(self.files(service)[self._plist(service.name)].encode())
        return _without_path(wanted) == _without_path(self._read(service.name))

    def surroundings(self, service: Service) -> dict[str, str]:
        """What launchd gives every agent of a session, and the service's own."""
        given = {name: environ.get(name) or "" for name in ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR")}
        return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"} | given | dict(service.environment)

    def loads_secrets(self, name: str) -> bool:  # noqa: ARG002 - the contract's shape
        """It has no way to."""
        return False

    def install(self, service: Service) -> None:
        """Write the property list, and load it anew: launchd reads it then, and starts it."""
        (text,) = self.files(service).values()
        plist = self._plist(service.name)
        make_private(service.folder / "logs")
        os.close(open_private(service.folder / "logs" / f"{service.name}.service.log", os.O_WRONLY | os.O_CREAT))
        plist.parent.mkdir(parents=True, exist_ok=True)
        beside = plist.with_name(f".{plist.name}.{os.getpid()}")
        beside.write_text(text, "utf-8")
        beside.replace(plist)
        self._unload(service.name)
        self._ask("enable", self._target(service.name))
        self._ask("bootstrap", self._domain, str(plist))
        self._ask("kickstart", self._target(service.name))

    def uninstall(self, name: str) -> bool:
        """Stop it and remove the property list."""
        plist = self._plist(name)
        if not plist.is_file():
            return False
        self._unload(name)
        plist.unlink()
        return True

    def state(self, name: str) -> State:
        """What `launchctl print` says of it. Since when it runs, launchd does not tell."""
        installed = self._plist(name).is_file()
        if not self.answers():
            raise self._unreachable()
        shown = self._try("print", self._target(name))
        disabled = self._try("print-disabled", self._domain) or ""
        enabled = installed and not re.search(f'"{re.escape(_LABEL + name)}" => (disabled|true)', disabled)
        if shown is None:
            return State(installed, enabled, active=False)
        pid = re.search(r"^\tpid = (\d+)", shown, re.MULTILINE)
        code = re.search(r"^\tlast exit code = (\d+)", shown, re.MULTILINE)
        if pid is not None:
            return State(installed, enabled, active=True, pid=int(pid[1]))
        failed = code is not None and code[1] != "0"
        why = f"ended with exit code {code[1]}" if failed and code else ""
        return State(installed, enabled, active=False, failed=failed, why=why)

    def log_command(self, name: str) -> str:
        """The end of its log file."""
        return f"tail -n 20 {shlex.quote(str(self._read(name).get('StandardErrorPath', '')))}"

    def survives_logout(self) -> bool:
        """An agent ends with the session of its user."""
        return False

    def survive_logout(self) -> None:
        """Raises Failed: only a daemon of the machine would."""
        raise Failed(
            "an agent of launchd ends when its user logs out",
            why="only a daemon of the whole machine would not, and it could not use your agents' logins",
            hint="push service install",
            code="linger_refused",
        )

    def _unload(self, name: str) -> None:
        """End and forget it; waits for its end, as it cannot be loaded before."""
        if self._try("bootout", self._target(name)) is None and self._try("print", self._target(name)) is None:
            return
        deadline = clock.monotonic() + _END_SECONDS
        while self._try("print", self._target(name)) is not None:
            if clock.monotonic() > deadline:
                raise Failed(
                    f"the service {name} does not end",
                    why="launchd still lists it",
                    hint=f"launchctl print {self._target(name)}",
                    code="supervisor_refused",
                )
            time.sleep(_LOOK_SECONDS)

    def _try(self, *words: str) -> str | None:
        """What launchctl prints; None where it fails."""
        done = programs.run(["launchctl", *words])
        return done.out if isinstance(done, programs.Completed) and done.code == 0 else None

    def _ask(self, *words: str) -> None:
        done = programs.run(["launchctl", *words])
        if isinstance(done, programs.Completed) and done.code == 0:
            return
        if not self.answers():
            raise self._unreachable()
        raise Failed(
            f"launchctl {shlex.join(words)} failed",
            why=done.complaint if isinstance(done, programs.Completed) else "it did not answer",
            hint=f"launchctl print {self._domain}",
            code="supervisor_refused",
        )

    def _unreachable(self) -> Exception:
        return unreachable("launchd", "this user has no desktop session")

    def _target(self, name: str) -> str:
        return f"{self._domain}/{_LABEL}{name}"

    def _plist(self, name: str) -> Path:
        return self._folder / f"{_LABEL}{name}.plist"

    def _read(self, name: str) -> dict[str, Any]:
        try:
            found = plistlib.loads(self._plist(name).read_bytes())
        except (OSError, ValueError, plistlib.InvalidFileException):
            return {}
        return found if isinstance(found, dict) else {}


def _without_path(plist: dict[str, Any]) -> dict[str, Any]:
    environment = {k: v for k, v in dict(plist.get("EnvironmentVariables") or {}).items() if k != "PATH"}
    return plist | {"EnvironmentVariables": environment}
