"""Which supervisor this machine has, and what Push wants it to run.

Owns the service's command, folder and environment; does not own its unit (`push.supervisors.systemd`, `.launchd`).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from push import environ
from push.config.settings import Settings
from push.errors import ConfigError
from push.supervisors.base import Service, Supervisor

DEFAULT_NAME = "push"
#: What every login shell finds; agents expect it.
_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")


def usual() -> Supervisor:
    """The supervisor of such a machine, whether it can be asked or not."""
    if sys.platform == "darwin":
        from push.supervisors.launchd import Launchd

        return Launchd()
    from push.supervisors.systemd import Systemd

    return Systemd()


def here() -> Supervisor | None:
    """The supervisor of this user that can be asked now; None where there is none."""
    supervisor = usual()
    return supervisor if supervisor.answers() else None


def service_of(
    settings: Settings, name: str = DEFAULT_NAME, *, path: str | None = None, hardened: bool = False
) -> Service:
    """The gateway of a configuration as a service: this very Push, whatever PATH says later.

    `path` is the PATH to take over (default: ours). Raises ConfigError for the embedded default.
    """
    if settings.path is None:
        raise ConfigError(
            "there is no configuration to run",
            why="a service wants one, as nobody is there to choose an agent",
            hint="push init",
            code="config_missing",
        )
    config = ("--config", str(settings.path))
    found = environ.get("PATH") or "" if path is None else path
    return Service(
        name=name,
        argv=(*_push(), "run", *config),
        folder=settings.home.root,
        environment={"PUSH_HOME": str(settings.home.root), "PATH": ":".join(_folders(settings, found))},
        reload=(*_push(), "reload", *config),
        hardened=hardened,
    )


def renewed(installed: Service) -> Service:
    """An installed service as this version would install it, whatever the configuration says now."""
    config = installed.argv[-2:]
    return Service(
        name=installed.name,
        argv=(*_push(), "run", *config),
        folder=home_of(installed),
        environment={"PUSH_HOME": str(home_of(installed)), "PATH": installed.environment.get("PATH", "")},
        reload=(*_push(), "reload", *config),
        hardened=installed.hardened,
    )


def home_of(service: Service) -> Path:
    """The home that a service runs."""
    return Path(service.environment.get("PUSH_HOME") or service.folder)


def carry(variable: str, name: str) -> str:
    """The command that writes this shell's variable to the service's environment file, and starts the service with it.

    It shows the value to nobody, not to `ps` either.
    """
    line = f"printenv {variable} | sed s/^/{variable}=/ >>~/.config/{name}/env"
    install = "push service install" if name == DEFAULT_NAME else f"push service install --name {name}"
    return f"(umask 077; mkdir -p ~/.config/{name}; {line}) && {install}"


def _push() -> tuple[str, ...]:
    """This very program; `-P`, as a file push.py in the service's folder is not it."""
    return sys.executable, "-P", "-m", "push"


def _folders(settings: Settings, path: str) -> list[str]:
    """Absolute folders that exist, each once. Ours is the last, so that an agent's `python` stays what it is."""
    wanted = [*path.split(":"), *_of_agents(settings, path), *_SYSTEM_PATH, str(Path(sys.executable).parent)]
    return list(dict.fromkeys(folder for folder in wanted if _is_usable(folder)))


def _is_usable(folder: str) -> bool:
    return folder.startswith("/") and folder.isprintable() and Path(folder).is_dir()


def _of_agents(settings: Settings, path: str) -> Iterator[str]:
    """Where the agents' programs stand: an interpreter that they name is often beside them."""
    agents = {settings.agent, settings.jobs_agent, *(route.agent for route in settings.routes)}
    for program in (settings.bin_for(agent)[:1] for agent in sorted(agents)):
        if program and (found := shutil.which(program[0], path=path)):
            yield str(Path(found).absolute().parent)
