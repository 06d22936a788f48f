"""A bench for each adapter, with the imitation of its CLI; and what a test expects of a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from push.agents.registry import adapter_for
from push.model.values import AgentFailed, Answered, RunOutput
from tests.agents.running import Bench, Run

FAKES = Path(__file__).resolve().parent


def bench_for(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    program = FAKES / f"fake_{name}.py"
    assert program.exists(), f"the adapter {name} needs an imitation of its CLI at {program}"
    work_dir, store = folder / "work", folder / "store"
    work_dir.mkdir()
    store.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(store))
    environment = {"PATH": "/usr/bin:/bin", "FAKE_HOME": str(store), "CODEX_HOME": str(store)}
    mark = {name: value for name, value in os.environ.items() if name == "PUSH_TEST_MARK"}
    return Bench(adapter_for(name, (sys.executable, "-S", str(program))), folder, work_dir, environment | mark)


def answered(run: Run) -> RunOutput:
    assert isinstance(run.outcome, Answered), run.outcome
    return run.outcome.output


def failed(run: Run) -> AgentFailed:
    assert isinstance(run.outcome, AgentFailed), run.outcome
    return run.outcome


def session(run: Run) -> str:
    session_id = answered(run).session_id
    assert session_id is not None
    return session_id


def until_it_hangs(bench: Bench) -> Bench:
    """A bench on which a run is cancelled once the imitation hangs."""
    return bench.until((Path(bench.environment["FAKE_HOME"]) / "hanging").exists)
