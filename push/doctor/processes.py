"""The processes of this home: whether their loops go on, and what ended ones left behind.

Owns telling; signals nobody, since a pid in a file may be another program's by now.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from push import clock
from push.config.settings import Settings
from push.doctor.findings import Finding, failed, fine, warning
from push.locks import is_held
from push.providers import local
from push.supervisors.registry import DEFAULT_NAME
from push.tasks import roles
from push.tasks.roles import Holder

_CHECK = "processes"
_BEATING = ("sweep", "turns")  # they beat every 30 s
_SILENT_MS = 100_000


def look(settings: Settings) -> Iterator[Finding]:
    """Those that live, by their locks."""
    home = settings.home
    living = roles.living(home.run)
    now = clock.now_ms()
    silent = {holder.pid: holder for holder in living if _silence(holder, now)}
    for holder in silent.values():
        yield _stopped(holder, _silence(holder, now))
    if not silent:
        who = ", ".join(dict.fromkeys(f"{holder.command} ({holder.pid})" for holder in living)) or "none runs"
        stale = sum(not is_held(path) for path in home.run.glob("*.role"))
        left = f"; {stale} ended, and what they left is harmless" if stale else ""
        read = [channel for channel in settings.channels if channel != local.CHANNEL]
        if read and not any(holder.role == "poll" for holder in living):
            yield warning(_CHECK, "no_gateway", f"{who}, so that nobody reads {', '.join(read)}{left}", "push run")
        else:
            yield fine(_CHECK, who + left)


def _silence(holder: Holder, now: int) -> str:
    """The loop that has not beaten for long, and for how long; "" where none."""
    late = {name: now - beat for name, (beat, _) in holder.loops.items() if name in _BEATING}
    name = max(late, key=late.__getitem__, default="")
    return f"{name} for {late[name] // 1000} s" if name and late[name] > _SILENT_MS else ""


def _stopped(holder: Holder, silence: str) -> Finding:
    """A process that somebody stopped goes on; one that hangs is started anew."""
    who = f"process {holder.pid} ({holder.command})"
    if _state(holder.pid) == "T":
        message = f"{who} was stopped (SIGSTOP); silent: {silence}"
        return failed(_CHECK, "process_stopped", message, f"kill -CONT {holder.pid}")
    message = f"{who} has a loop that is silent: {silence}; it is to be started anew"
    hint = "push service install" if _is_of_service(holder.pid) else f"kill {holder.pid}"
    return failed(_CHECK, "process_silent", message, hint)


def _state(pid: int) -> str:
    return _proc(pid, "stat").rpartition(")")[2].strip()[:1]


def _is_of_service(pid: int) -> bool:
    """Whether systemd runs it, and would not start it again after a good end."""
    return f"/{DEFAULT_NAME}.service" in _proc(pid, "cgroup")


def _proc(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
