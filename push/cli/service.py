"""`push service`: the gateway as a service of this user, kept running by systemd or launchd.

Owns what is checked before a service is installed, and what is told afterwards; does not own units
(`push.supervisors`).
"""

from __future__ import annotations

import re
import shlex
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output
from push.cli.options import config_option, json_option, settings, wants_json
from push.errors import EXIT_OK, ConfigError, ConflictError, DependencyError, Failed, TemporaryError, UsageError
from push.supervisors.registry import DEFAULT_NAME

if TYPE_CHECKING:
    from push.config.settings import Settings
    from push.supervisors.base import Service, State, Supervisor
    from push.tasks.roles import Holder

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
#: There on every machine that systemd runs: lingering then brings a manager for a user who has no session.
_BOOTED_WITH_SYSTEMD = Path("/run/systemd/system")
_UP_SECONDS = 15.0
_STEADY_SECONDS = 0.5  # one whose token is refused says so, and then ends
_LOOK_SECONDS = 0.1


def _check_name(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        why = "a name has letters, digits, - and _"
        raise UsageError(f"{value!r} cannot be a service's name", why=why, hint="push service status")
    return value


_name_option = click.option(
    "--name", default=DEFAULT_NAME, show_default=True, metavar="NAME", callback=_check_name, help="Of several services."
)


@click.group()
@config_option
@json_option
def service() -> None:
    """Let the gateway run as a service of yours: started with your session, and again when it fails."""


@service.command()
@_name_option
@click.option("--print", "show", is_flag=True, help="Print the files, and change nothing.")
@click.option("--linger", is_flag=True, help="Let it run on when you log out (systemd).")
@click.option("--hardened/--not-hardened", default=None, help="With limits that hold the agents too (systemd).")
@config_option
@json_option
@click.pass_context
def install(ctx: click.Context, name: str, *, show: bool, linger: bool, hardened: bool | None) -> None:
    """Install the service, start it, bring it up to date.

    Safe to repeat.
    """
    from push.supervisors import registry

    ledger.refuse_agents(ctx, "install a service")
    found = settings(ctx)
    supervisor = registry.usual() if show else _supervisor()
    there = supervisor.installed(name)
    harder = hardened if hardened is not None else there is not None and there.hardened
    wanted = registry.service_of(found, name, hardened=harder)
    if show:
        _print(ctx, supervisor, wanted)
        return
    _refuse_another(there, wanted)
    _refuse_unready(found, supervisor, wanted)
    _refuse_running(found, supervisor, name)
    if linger:
        supervisor.survive_logout()
    supervisor.install(wanted)
    state = _wait(found, supervisor, name)
    _tell(ctx, supervisor, wanted, state)


def _supervisor() -> Supervisor:
    from push.supervisors import registry

    supervisor = registry.here()
    if supervisor is None:
        name = registry.usual().name
        raise DependencyError(
            f"{name} cannot be asked here",
            why=f"{name} keeps services of a user running, and none answers: a container, or a login without a session",
            hint="loginctl enable-linger" if _BOOTED_WITH_SYSTEMD.is_dir() else "push run",
            code="supervisor_unreachable",
        )
    return supervisor


def _print(ctx: click.Context, supervisor: Supervisor, wanted: Service) -> None:
    files = supervisor.files(wanted)
    if wants_json(ctx):
        output.emit_json({"items": [{"path": str(path), "text": text} for path, text in files.items()]})
        return
    for path, text in files.items():
        output.note(f"{path}:")
        output.emit(text.rstrip("\n"))


def _refuse_another(there: Service | None, wanted: Service) -> None:
    from push.supervisors.registry import home_of

    if there is not None and home_of(there).resolve() != home_of(wanted).resolve():
        raise ConflictError(
            f"the service {wanted.name} runs another home: {home_of(there)}",
            why=f"this home is {home_of(wanted)}, and one service runs one home",
            hint=f"push service install --name {wanted.name}-2",
            code="service_of_another",
        )


def _refuse_unready(found: Settings, supervisor: Supervisor, wanted: Service) -> None:
    """Raise ConfigError where there is no bot token, or only this shell has it."""
    from push import environ
    from push.providers.registry import reader_for
    from push.supervisors import registry

    variable = found.telegram.bot_token_env
    if "telegram" not in found.channels or "telegram.bot_token" in found.written:
        return
    if supervisor.loads_secrets(wanted.name) or supervisor.surroundings(wanted).get(variable):
        return
    reader_for("telegram", found)  # says what is missing where there is none at all
    raise ConfigError(
        "the service would find no bot token",
        why=f"{variable} is set here, but not where the service runs",
        hint=registry.carry(variable, wanted.name) if environ.get(variable) else "push init",
        code="service_unready",
    )


def _refuse_running(found: Settings, supervisor: Supervisor, name: str) -> None:
    from push.supervisors.registry import DEFAULT_NAME

    holder = _poller(found)
    if holder is not None and holder.pid != supervisor.state(name).pid:
        is_service = holder.pid == supervisor.state(DEFAULT_NAME).pid
        raise ConflictError(
            f"`{holder.command}` runs in this home already (process {holder.pid})",
            why=f"the service would find {DEFAULT_NAME if is_service else 'it'} reading the same messages, and end",
            hint="push service uninstall" if is_service else f"kill {holder.pid}",
            code="role_taken",
        )


def _poller(found: Settings) -> Holder | None:
    from push.tasks import roles

    return next((holder for holder in roles.living(found.home.run) if holder.role == "poll"), None)


def _wait(found: Settings, supervisor: Supervisor, name: str) -> State:
    """Until the service polls. Raises Failed where it ends, TemporaryError where it takes its time."""
    from push import clock

    deadline = clock.monotonic() + _UP_SECONDS
    pause, up_since = threading.Event(), None
    with output.Waiting() as waiting:
        while (now := clock.monotonic()) < deadline:
            state, holder = supervisor.state(name), _poller(found)
            if state.failed:
                raise _failure(supervisor, name, state)
            is_up = state.active and holder is not None and holder.pid == state.pid and bool(holder.loops)
            up_since = (up_since or now) if is_up else None
            if up_since is not None and now - up_since >= _STEADY_SECONDS:
                return state
            waiting.tick(f"Waiting for the service {name}")
            pause.wait(_LOOK_SECONDS)
    raise TemporaryError(
        f"the service {name} is installed, but does not poll yet",
        why=f"after {_UP_SECONDS:.0f} s no process of it reads a channel",
        hint="push service status",
        code="service_slow",
    )


def _failure(supervisor: Supervisor, name: str, state: State) -> Failed:
    from push import programs

    log = supervisor.log_command(name)
    done = programs.run(shlex.split(log))
    said = done.out.splitlines() if isinstance(done, programs.Completed) else []
    why, hint = f"it {state.why}", log
    for line in said:  # the last complaint counts
        label, _, text = line.partition(": ")
        if label == "error":
            why, hint = f"it {state.why}: {text}", log
        elif label == "next":
            hint = text
    return Failed(f"the service {name} is installed, but does not stay up", why=why, hint=hint, code="service_failed")


def _tell(ctx: click.Context, supervisor: Supervisor, wanted: Service, state: State) -> None:
    survives = supervisor.survives_logout()
    if wants_json(ctx):
        files = [str(path) for path in supervisor.files(wanted)]
        body = {"name": wanted.name, "supervisor": supervisor.name, "home": str(wanted.folder), "pid": state.pid}
        output.emit_json(body | {"survives_logout": survives, "files": files})
        return
    output.emit(f"The service {wanted.name} runs (process {state.pid}), and starts with your session.")
    if not survives and supervisor.name == "systemd":
        output.note("It ends when you log out. To let it run on: loginctl enable-linger")


@service.command()
@_name_option
@config_option
@json_option
@click.pass_context
def uninstall(ctx: click.Context, name: str) -> None:
    """Stop and remove the service. Its home and configuration stay."""
    ledger.refuse_agents(ctx, "remove a service")
    supervisor = _supervisor()
    there = supervisor.installed(name)
    removed = supervisor.uninstall(name)
    if wants_json(ctx):
        output.emit_json({"name": name, "removed": removed})
    elif there is None:
        output.emit(f"There is no service {name}.")
    else:
        output.emit(f"The service {name} is removed. What it kept stays: {there.folder}")


@service.command()
@_name_option
@config_option
@json_option
@click.pass_context
def status(ctx: click.Context, name: str) -> int:
    """Show whether the service runs. Exits with 0 where it does, else with 1."""
    from push import clock
    from push.supervisors import registry

    supervisor = _supervisor()
    state = supervisor.state(name)
    there = supervisor.installed(name)
    found: dict[str, Any] = {
        "name": name,
        "supervisor": supervisor.name,
        "installed": state.installed,
        "enabled": state.enabled,
        "active": state.active,
        "pid": state.pid,
        "since": clock.iso(state.since),
        "current": supervisor.is_current(registry.renewed(there)) if there is not None else None,
        "survives_logout": supervisor.survives_logout(),
        "home": str(registry.home_of(there)) if there is not None else None,
        "why": state.why or None,
    }
    if wants_json(ctx):
        output.emit_json(found)
    else:
        _show(found, supervisor.log_command(name))
    return EXIT_OK if state.active else Failed.exit_code


def _show(found: dict[str, Any], log: str) -> None:
    name = "" if found["name"] == DEFAULT_NAME else f" --name {found['name']}"
    if not found["installed"]:
        output.emit(f"The service {found['name']} is not installed. Next: push service install{name}")
        return
    since = f" since {found['since']}" if found["since"] else ""
    runs = f"runs (process {found['pid']}){since}" if found["active"] else "does not run"
    output.emit(f"The service {found['name']} {runs}.")
    output.emit(f"Home: {found['home']}")
    if found["why"]:
        output.emit(f"It {found['why']}. Next: {log}")
    if not found["enabled"]:
        output.emit(f"It does not start with your session. Next: push service install{name}")
    if found["current"] is False:
        output.emit(f"Its unit is not what this version writes. Next: push service install{name}")
    if not found["survives_logout"] and found["supervisor"] == "systemd":
        output.emit("It ends when you log out. Next: loginctl enable-linger")
