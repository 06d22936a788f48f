"""The contract of a supervisor: what keeps a service of this user running, and starts it again.

Owns the values and the interface; systemd and launchd stand in modules of their own, `registry.here()` finds the one
of this machine. Does not own what a service is for (`push.cli.service`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Service:
    """What is to run. `environment` is all that it gets from us (PUSH_HOME, PATH), never a secret."""

    name: str
    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class State:
    """What the supervisor says about a service. `since`: milliseconds since 1970; `why`: its own word of trouble."""

    installed: bool
    enabled: bool
    active: bool
    pid: int | None = None
    since: int | None = None
    why: str = ""


class Supervisor(Protocol):
    """One of them. Every method but `files` and `installed` raises DependencyError where it cannot be reached."""

    #: `systemd` or `launchd`.
    name: str

    def files(self, service: Service) -> dict[Path, str]:
        """The unit's files as they are to be, from the templates in `deploy/`."""

    def installed(self, name: str) -> Service | None:
        """The service as its installed unit runs it; None where none of that name is installed."""

    def install(self, service: Service) -> None:
        """Write the files, enable and start the service; one that runs is started anew. Safe to repeat."""

    def uninstall(self, name: str) -> bool:
        """Stop it, disable it, remove the files; whether there was one."""

    def state(self, name: str) -> State:
        """Whether it is installed, enabled and active."""

    def survives_logout(self) -> bool:
        """Whether the service goes on when the user logs out."""
