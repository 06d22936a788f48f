"""The agents that the configuration uses: there, able to start, of a version that was tried, answering when asked.

Owns the next command for each; does not own the turn that asks them (`push.gateway.probing`).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from push import environ
from push.agents import process
from push.agents.environment import agent_environment
from push.config.settings import EMBEDDED_AGENTS, Settings
from push.doctor.findings import Finding, Status, failed, fine, warning
from push.gateway import probing

_VERSION_SECONDS = 10.0  # a CLI in node takes seconds on a busy machine
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_CANNOT_BE_EXECUTED = 126  # from here on a shell says so, or that a signal ended it
_NO_SUCH_COMMAND = 127  # `env: node: No such file or directory`


@dataclass(frozen=True, slots=True)
class Cli:
    """What is known of an agent's command line: its package, the oldest version that was tried, how one logs in."""

    package: str
    oldest: tuple[int, int, int]
    login: str

    @property
    def install(self) -> str:
        """The command that installs it, or brings it up to date."""
        return f"npm install -g {self.package}"


CLIS: Final = {
    "claude": Cli("@anthropic-ai/claude-code", (2, 1, 197), "claude /login"),
    "codex": Cli("@openai/codex", (0, 171, 0), "codex login"),
    "pi": Cli("@mariozechner/pi-coding-agent", (0, 73, 1), "pi"),
}

#: Why an agent did not answer -> what that means. Anything else is the word itself.
_MEANINGS: Final = {
    "not_found": "its program is not found",
    "not_executable": "its program cannot be executed",
    "not_started": "it could not be started",
    "not_logged_in": "it is not logged in",
    "timed_out": f"it did not answer within {probing.PROBE_SECONDS:.0f} s",
    "bad_output": "its output is not understood",
    "empty_reply": "it ended without a word",
    "unavailable": "its service cannot be reached",
    "rate_limited": "its limit is reached",
    "busy": "somebody else is asking it",
}
#: The step that failed, as a stable word.
_STEPS: Final = {
    "not_found": "agent_missing",
    "not_executable": "agent_not_executable",
    "not_logged_in": "agent_not_logged_in",
    "timed_out": "agent_silent",
    "bad_output": "agent_output",
    "empty_reply": "agent_output",
}


def look(settings: Settings) -> Iterator[Finding]:
    """Each of them without asking it anything but its version."""
    names = used(settings)
    if not settings.agent:
        present = _present()
        yield fine("agent", f"on PATH: {', '.join(present) or 'none, the demonstration answers'}")
        names = present
    with ThreadPoolExecutor(max(len(names), 1)) as pool:
        yield from pool.map(lambda name: _program(settings, name), names)


def used(settings: Settings) -> tuple[str, ...]:
    """Every agent that the configuration names."""
    wanted = {settings.agent, settings.jobs_agent, *(route.agent for route in settings.routes)} - {""}
    return tuple(sorted(wanted))


def ask(settings: Settings) -> Iterator[Finding]:
    """A real turn of one word with each that is there: it costs a few tokens."""
    names = used(settings) if settings.agent else _present()
    there = [name for name in names if shutil.which(next(iter(settings.bin_for(name)), ""))]
    for name, code in probing.probe_all(settings, there).items():
        if code is None:
            yield fine("agent", f"{name} answers")
        else:
            step, meaning = _STEPS.get(code, "agent_failed"), _MEANINGS.get(code, code.replace("_", " "))
            yield failed("agent", step, f"{name} does not answer: {meaning}", _next(settings, name, code))


def _next(settings: Settings, name: str, code: str) -> str:
    """The command for an agent that did not answer."""
    cli = CLIS.get(name)
    match code:
        case "not_found" | "not_executable" | "not_started":
            return _program(settings, name).hint or "push doctor"
        case "not_logged_in" if cli:
            return _with_program(settings, name, cli.login)
        case "bad_output" if cli:
            return cli.install
        case _:  # its own words say more than its exit code: a person tries it by hand
            program = settings.bin_for(name)
            return shlex.join(program) if cli else "push config show"


def _with_program(settings: Settings, name: str, command: str) -> str:
    """The command with the program that the configuration names."""
    _, _, arguments = command.partition(" ")
    return f"{shlex.join(settings.bin_for(name))} {arguments}".rstrip()


def _present() -> tuple[str, ...]:
    return tuple(name for name in EMBEDDED_AGENTS if shutil.which(name))


def _program(settings: Settings, name: str) -> Finding:
    program = next(iter(settings.bin_for(name)), "")
    found = check_program(name, program, environ.get("PATH"), hint=_instead(settings, name))
    if found.status is not Status.OK or name not in CLIS:
        return found
    return check_version(settings, name, shutil.which(program) or program, environ.get("PATH"))


def check_program(name: str, program: str, path: str | None, *, hint: str = "") -> Finding:
    """Whether `program` can be executed on a PATH: the shell's, or the service's."""
    if found := shutil.which(program, path=path):
        return fine("agent", f"{name}: {found}")
    if blocked := shutil.which(program, mode=os.F_OK, path=path):
        message = f"{name}: {blocked} is not executable"
        return failed("agent", "agent_not_executable", message, f"chmod +x {shlex.quote(blocked)}")
    where = "does not exist" if "/" in program else "is not found on PATH"
    return failed("agent", "agent_missing", f"{name}: {program or 'its program'} {where}", hint)


def _instead(settings: Settings, name: str) -> str:
    """Another agent that is there, where this is the one of every conversation; else how it is installed."""
    others = [other for other in _present() if other != name]
    if name == settings.agent and others:
        return f"push init --agent {others[0]}"
    return CLIS[name].install if name in CLIS else "push config show"  # a program of the owner's own


def check_version(settings: Settings, name: str, program: str, path: str | None) -> Finding:
    """Whether it can say its version, which takes node where it is written in it, and whether that was tried."""
    cli = CLIS[name]
    env = agent_environment(
        environ.snapshot(), settings.secret_env_names(), settings.secret_values(), settings.agent_env
    )
    env |= {"PATH": path} if path else {}
    said = process.run_probe((program, "--version"), env=env, seconds=_VERSION_SECONDS)
    shown = f"{name}: {program}"
    if said.code is None and said.errno is None:
        message = f"{shown} did not say its version within {_VERSION_SECONDS:.0f} s"
        return warning("agent", "agent_version", message, f"{shlex.quote(program)} --version")  # slow is not broken
    found = _VERSION.search(said.output)
    if said.code is None or said.code < 0 or said.code >= _CANNOT_BE_EXECUTED:
        words = os.strerror(said.errno) if said.errno else _last_line(said.output) or f"exit code {said.code}"
        is_node_missing = said.code == _NO_SUCH_COMMAND and "node" in said.output
        message = f"{shown} does not start: {words}"
        return failed("agent", "agent_version", message, _node(path) if is_node_missing else cli.install)
    if said.code or found is None:  # a wrapper of one's own may answer all the same
        message = f"{shown} does not say its version: {_last_line(said.output) or f'exit code {said.code}'}"
        return warning("agent", "agent_version", message, cli.install)
    version = tuple(int(number) for number in found[0].split("."))
    if version < cli.oldest:
        oldest = ".".join(map(str, cli.oldest))
        message = f"{shown} has version {found[0]}; none before {oldest} was tried"
        return warning("agent", "agent_old", message, f"{cli.install}@latest")
    return fine("agent", f"{shown}, version {found[0]}")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""


def _node(path: str | None) -> str:
    """How node is installed on this machine."""
    managers: Sequence[tuple[str, str]] = (("brew", "brew install node"), ("apt-get", "sudo apt-get install -y nodejs"))
    return next((command for program, command in managers if shutil.which(program, path=path)), "node --version")
