"""Runs an adapter's program as the gateway does: spool, runner, lock, result. For tests only."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from push.agents import process
from push.agents import spool as spooling
from push.agents.base import Adapter
from push.agents.process import Launch, RunnerProcess
from push.agents.spool import Spool
from push.locks import FileLock
from push.model.values import AgentOutcome, Exited, Request


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: what was asked, how the process ended, what the adapter made of it."""

    request: Request
    exited: Exited
    outcome: AgentOutcome
    resumable: str | None


@dataclass(frozen=True, slots=True)
class Bench:
    """A place to run one adapter in: `folder` for spools and locks, the agent's work dir and whole environment."""

    adapter: Adapter
    folder: Path
    work_dir: Path
    environment: dict[str, str]
    deadline_seconds: float = 60.0
    grace_seconds: float = 5.0
    enough: Callable[[], bool] | None = None

    def until(self, enough: Callable[[], bool]) -> Bench:
        """The same, cancelled as soon as `enough` holds."""
        return replace(self, enough=enough, grace_seconds=1.0)

    def within(self, seconds: float) -> Bench:
        """The same with a deadline, and a short grace after it."""
        return replace(self, deadline_seconds=seconds, grace_seconds=1.0)

    def new(self, prompt: str, instructions: str = "You are SOUL.") -> Run:
        """A run in a new session."""
        return self._run(self.adapter.new_session_id(), prompt, instructions, is_new=True)

    def resume(self, session_id: str, prompt: str, instructions: str = "You are SOUL.") -> Run:
        """A run in the session of an earlier one."""
        return self._run(session_id, prompt, instructions, is_new=False)

    def begin(self, session_id: str, prompt: str) -> Run:
        """A run in a new session with an id that we choose."""
        return self._run(session_id, prompt, "You are SOUL.", is_new=True)

    def _run(self, session_id: str | None, prompt: str, instructions: str, *, is_new: bool) -> Run:
        name = f"r{uuid.uuid4().hex[:8]}"
        instructions_file = spooling.Spool.at(self.folder / "spool", name).instructions
        request = Request(session_id, is_new, self.work_dir, instructions, instructions_file, prompt)
        sent = self.adapter.prompt_bytes(request)
        spool = spooling.prepare(self.folder / "spool", name, prompt=sent, instructions=instructions)
        launch = Launch(
            argv=self.adapter.argv(request),
            env=self.environment | self.adapter.environment(request),
            cwd=self.work_dir,
            deadline_seconds=self.deadline_seconds,
            grace_seconds=self.grace_seconds,
            output_cap=self.adapter.output_cap,
            drop_prefix=self.adapter.drop_prefix,
        )
        lock = FileLock.take(self.folder / f"{name}.lock")
        assert lock is not None
        with lock:
            self._wait(spool, process.start(spool, launch, lock.fd))
        exited = spooling.read_result(spool)
        assert exited is not None
        return Run(request, exited, self.adapter.read(request, exited), self.adapter.resumable(request, spool.out))

    def _wait(self, spool: Spool, runner: RunnerProcess) -> None:
        if self.enough is None:
            assert runner.wait(None)
            return
        look, over = os.pipe()  # readable at once, so that waiting is only a look
        os.close(over)
        while not runner.wait(look):
            if self.enough():
                process.cancel(spool)
                assert runner.wait(None)
                break
            time.sleep(0.02)
        os.close(look)
