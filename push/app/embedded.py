"""The embedded default: with no config.toml, the first agent CLI on PATH that answers, else the demonstration.

Owns the choice and its record in `run/agent.json`; does not own the settings' other defaults (`push.config`).
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from push import assistant, clock, environ
from push.agents import process
from push.agents import spool as spooling
from push.agents.environment import agent_environment
from push.agents.process import Launch
from push.agents.registry import adapter_for
from push.config.settings import EMBEDDED_AGENTS, Settings
from push.locks import FileLock
from push.model.values import Answered, Request
from push.paths import make_private

PROBE_SECONDS = 20.0
_RECORD_MS = 24 * 3600 * 1000
_PROMPT = "Reply with the single word: ready"


@dataclass(frozen=True, slots=True)
class Choice:
    """An agent, its program, and the sentence that says why."""

    agent: str
    program: tuple[str, ...]
    why: str


def choose(settings: Settings, say: Callable[[str], None]) -> Settings:
    """The settings with an agent that answers. Asks each CLI for one word, at most once a day; `say` gets progress."""
    make_private(settings.home.root)
    assistant.scaffold_default(settings.assistant_root)
    record = settings.home.run / "agent.json"
    choice = _recorded(record)
    if choice is None:
        choice = _probe_all(settings, say)
        make_private(record.parent)
        text = json.dumps({"at": clock.now_ms(), "agent": choice.agent, "program": choice.program, "why": choice.why})
        record.write_text(text)
    say(choice.why)
    return settings.with_agent(choice.agent, choice.program if choice.agent == "command" else None)


def _recorded(record: Path) -> Choice | None:
    """Yesterday's finding is asked again; a program that was installed or removed since is noticed at once."""
    try:
        raw = json.loads(record.read_text())
        choice = Choice(str(raw["agent"]), tuple(raw["program"]), str(raw["why"]))
        if clock.now_ms() - int(raw["at"]) > _RECORD_MS:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    present = [name for name in EMBEDDED_AGENTS if shutil.which(name)]
    return choice if (choice.agent in present or (choice.agent == "command" and not present)) else None


def _probe_all(settings: Settings, say: Callable[[str], None]) -> Choice:
    silent = []
    for name in EMBEDDED_AGENTS:
        if shutil.which(name) is None:
            continue
        say(f"Asking {name} for one word …")
        code = probe(settings, name)
        if code is None:
            return Choice(name, (name,), f"Agent: {name}, found on PATH and answering.")
        silent.append(f"{name} ({code.replace('_', ' ')})")
    found = f"On PATH but not answering: {', '.join(silent)}. " if silent else ""
    program = (sys.executable, "-I", str(Path(assistant.__file__).parents[1] / "agents" / "demo.py"))
    return Choice("command", program, f"{found}Agent: the demonstration, which only echoes. See docs/how-to/agents.md.")


def probe(settings: Settings, name: str) -> str | None:
    """Run one tiny turn with an agent CLI; None when it answered, else the code of what went wrong."""
    adapter = adapter_for(name, settings.bin_for(name))
    lock = FileLock.take(settings.home.run / "locks" / "probe.lock", wait_seconds=PROBE_SECONDS)
    if lock is None:
        return "busy"
    with lock:
        spool = spooling.prepare(settings.home.spool, f"probe-{name}", prompt=_PROMPT.encode(), instructions="")
        request = Request(
            session_id=adapter.new_session_id(),
            is_new=True,
            work_dir=settings.assistant_root,
            instructions="",
            instructions_file=spool.instructions,
            prompt=_PROMPT,
        )
        names, values = settings.secret_env_names(), settings.secret_values()
        base = agent_environment(environ.snapshot(), names, values, settings.agent_env)
        launch = Launch(
            argv=adapter.argv(request),
            env=base | adapter.environment(request),
            cwd=request.work_dir,
            deadline_seconds=PROBE_SECONDS,
            grace_seconds=1.0,
            output_cap=adapter.output_cap,
            drop_prefix=adapter.drop_prefix,
        )
        process.start(spool, launch, lock.fd).wait(None)
        exited = spooling.read_result(spool)
        outcome = adapter.read(request, exited) if exited else None
        spooling.remove(spool)
    if isinstance(outcome, Answered):
        return None
    return getattr(outcome, "code", "no_result")
