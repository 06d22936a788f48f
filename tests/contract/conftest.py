"""The benches of the contract tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.agents.registry import ADAPTERS
from tests.agents.benches import bench_for
from tests.agents.running import Bench


@pytest.fixture(params=sorted(ADAPTERS))
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return bench_for(request.param, tmp_path, monkeypatch)


@pytest.fixture(params=sorted(set(ADAPTERS) - {"command"}))
def resuming(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Only the adapters that have sessions."""
    return bench_for(request.param, tmp_path, monkeypatch)


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return bench_for("claude", tmp_path, monkeypatch)


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return bench_for("codex", tmp_path, monkeypatch)


@pytest.fixture
def pi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return bench_for("pi", tmp_path, monkeypatch)
