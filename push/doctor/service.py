"""The installed service as it is: its home, its unit, its PATH and secrets, which are not the shell's.

Owns what a person is told; does not own the units (`push.supervisors`) nor installing them (`push service`).
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from push import environ
from push.config.settings import Settings
from push.doctor import agents
from push.doctor.findings import Finding, Status, failed, fine, warning
from push.supervisors import registry
from push.supervisors.base import Service, State, Supervisor
from push.tasks import roles

_CHECK = "service"
_INSTALL = "push service install"


def look(settings: Settings) -> Iterator[Finding]:
    """One line where none is installed: a gateway may well run in a terminal."""
    supervisor = registry.here()
    if supervisor is None:
        yield fine(_CHECK, "no supervisor of this user answers; `push run` works without")
        return
    service = supervisor.installed(registry.DEFAULT_NAME)
    if service is None:
        yield fine(_CHECK, "none is installed")
        return
    if other := _of_another_home(settings, service):
        yield other
        return
    found = [
        *_unit(supervisor, service),
        *_beside(settings, supervisor.state(service.name)),
        *_agents(settings, supervisor, service),
        *_secrets(settings, supervisor, service),
    ]
    yield from found or [fine(_CHECK, f"{service.name} of {supervisor.name} is active, and begins with the machine")]


def _of_another_home(settings: Settings, service: Service) -> Finding | None:
    home = registry.home_of(service)
    config = _config(service)
    if home.resolve() != settings.home.root.resolve():
        message = f"the installed service answers for {home}, not for {settings.home.root}"
        return warning(_CHECK, "service_elsewhere", message, f"env PUSH_HOME={shlex.quote(str(home))} push doctor")
    if settings.path is None or (config and Path(config).resolve() != settings.path.resolve()):
        message = f"the installed service reads {config or 'no file'}, not {settings.path or 'the embedded default'}"
        command = f"push doctor --config {shlex.quote(config)}" if config else "push init"
        return warning(_CHECK, "service_elsewhere", message, command)
    return None


def _config(service: Service) -> str:
    words = list(service.argv)
    return words[words.index("--config") + 1] if "--config" in words[:-1] else ""


def _unit(supervisor: Supervisor, service: Service) -> Iterator[Finding]:
    if not supervisor.is_current(registry.renewed(service)):
        message = "the unit's files are not those of this version, or name another Push"
        yield warning(_CHECK, "unit_outdated", message, _INSTALL)
    state = supervisor.state(service.name)
    if state.failed:
        command = supervisor.log_command(service.name)
        yield failed(_CHECK, "service_failed", f"{service.name} does not stay up: {state.why}", command)
    elif not state.active:
        yield failed(_CHECK, "service_stopped", f"{service.name} is installed and does not run", _INSTALL)
    if not state.enabled:
        yield warning(_CHECK, "service_disabled", f"{service.name} does not begin with the machine", _INSTALL)
    if not supervisor.survives_logout():
        message = f"{service.name} ends when you log out"
        yield warning(_CHECK, "service_ends_at_logout", message, "loginctl enable-linger")


def _beside(settings: Settings, state: State) -> Iterator[Finding]:
    """A gateway in the foreground takes the role that the service wants."""
    for holder in roles.living(settings.home.run):
        if holder.role == "poll" and holder.pid != state.pid:
            message = (
                f"`{holder.command}` (process {holder.pid}) reads the channels beside the service, which cannot then"
            )
            yield warning(_CHECK, "gateway_beside", message, f"kill {holder.pid}")


def _agents(settings: Settings, supervisor: Supervisor, service: Service) -> Iterator[Finding]:
    """On the unit's PATH, with what they are written in: an nvm of the shell is not there."""
    path = supervisor.surroundings(service).get("PATH")
    for name in agents.used(settings):
        program = next(iter(settings.bin_for(name)), "")
        found = agents.check_program(name, program, path, hint=_INSTALL)
        if found.status is Status.OK and name in agents.CLIS:
            found = agents.check_version(settings, name, shutil.which(program, path=path) or program, path)
        if found.status is not Status.FAILED:
            continue
        works_here = shutil.which(program) is not None
        message = f"for the service, {found.message}"
        if works_here and found.code != "agent_not_executable":
            yield failed(_CHECK, "service_path", f"{message}; this shell's PATH has it", _INSTALL)
        else:
            yield failed(_CHECK, found.code, message, found.hint)


def _secrets(settings: Settings, supervisor: Supervisor, service: Service) -> Iterator[Finding]:
    """A token that only this shell's environment holds does not reach the service."""
    name = settings.telegram.bot_token_env
    if "telegram" not in settings.channels or "telegram.bot_token" in settings.written:
        return
    if not supervisor.loads_secrets(service.name) and not supervisor.surroundings(service).get(name):
        message = f"the service finds no bot token: its variable {name} is not set there"
        yield failed(
            _CHECK, "service_token", message, registry.carry(name, service.name) if environ.get(name) else "push init"
        )
