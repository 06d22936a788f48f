"""The contract of a supervisor: what keeps a service of this user running, and starts it again.

Owns the values and the interface; systemd and launchd stand in modules of their own, `registry.here()` finds the one
of this machine. Does not own what a service is for (`push.cli.service`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from push.errors import ConfigError, DependencyError


@dataclass(frozen=True, slots=True)
class Service:
    """What is to run. `environment` is all that it gets from us (PUSH_HOME, PATH), never a secret.

    `reload` is the command that makes the running one read its configuration anew, where the supervisor has a way to
    ask for it. `hardened`: with the limits of `deploy/systemd/hardening.conf`, which hold the agents too.
    """

    name: str
    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    reload: tuple[str, ...] = ()
    hardened: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What the supervisor says about a service. `since`: milliseconds since 1970; `why`: its own word of trouble.

    `failed`: it ended and is not started again, or ends each time it is; False while it is being started.
    """

    installed: bool
    enabled: bool
    active: bool
    pid: int | None = None
    since: int | None = None
    failed: bool = False
    why: str = ""


class Supervisor(Protocol):
    """One of them.

    `files`, `installed` and `is_current` ask nobody; the others raise DependencyError where it cannot be reached, and
    Failed where it refuses.
    """

    #: `systemd` or `launchd`.
    name: str

    def answers(self) -> bool:
        """Whether it can be asked now."""

    def files(self, service: Service) -> dict[Path, str]:
        """The unit's files as they are to be, from the templates in `deploy/`.

        Raises ConfigError for a path that cannot stand in them.
        """

    def installed(self, name: str) -> Service | None:
        """The service as its installed unit runs it; None where none of that name is installed."""

    def is_current(self, service: Service) -> bool:
        """Whether the installed files are what `files` makes of this service.

        Its PATH does not count: it is that of the shell that installed it.
        """

    def surroundings(self, service: Service) -> dict[str, str]:
        """The environment that the service's process finds, as far as it can be told. It holds secrets."""

    def loads_secrets(self, name: str) -> bool:
        """Whether the service gets secrets that stand in no variable."""

    def install(self, service: Service) -> None:
        """Write the files, enable and start the service; one that runs is started anew. Safe to repeat."""

    def uninstall(self, name: str) -> bool:
        """Stop it, disable it, remove the files; whether there was one."""

    def state(self, name: str) -> State:
        """Whether it is installed, enabled and active."""

    def log_command(self, name: str) -> str:
        """The command that shows what the service said lately."""

    def survives_logout(self) -> bool:
        """Whether the service goes on when the user logs out."""

    def survive_logout(self) -> None:
        """Let this user's services go on when he logs out."""


def template(name: str) -> str:
    """A file of `deploy/`, which this package carries along."""
    return files("push.supervisors").joinpath(name).read_text("utf-8")


def check_text(text: str) -> str:
    """`text`, which is to stand in a unit. Raises ConfigError for what no supervisor takes in a path."""
    if not text.isprintable() or text != text.strip() or text.endswith("\\"):
        raise ConfigError(
            f"{text!r} cannot stand in a service's unit",
            why="it holds a control character or is no UTF-8, or a space or backslash stands at its edge: move it",
            hint="push service install --help",
            code="path_unusable",
        )
    return text


def unreachable(name: str, why: str) -> DependencyError:
    """The error of a supervisor that does not answer."""
    return DependencyError(f"{name} cannot be asked", why=why, hint="push run", code="supervisor_unreachable")
