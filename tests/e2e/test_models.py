"""A model that a person chose reaches the real claude, codex and pi, in a new session and in one that began without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from push.agents.registry import adapter_for
from tests.agents.benches import answered, session
from tests.agents.running import Bench
from tests.e2e.clis import NAMES, Model, find, model_server, world

pytestmark = [pytest.mark.e2e, pytest.mark.shared, pytest.mark.slow]

#: Not what each would choose by itself.
CHOSEN = {"claude": "claude-haiku-4-5", "codex": "gpt-5.4", "pi": "fake/other-model"}


@pytest.fixture
def model(shared: Path, tmp_path: Path) -> Iterator[Model]:
    with model_server(shared, tmp_path) as server:
        yield server


@pytest.mark.parametrize("name", NAMES)
def test_a_chosen_model_is_used_from_the_next_run_on(
    name: str, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find(name) is None:
        pytest.skip(f"{name} is not on PATH and not in .clis (see tests/e2e/clis.txt)")
    its = world(name, tmp_path / name, model.url)
    if name == "pi":
        models = Path(its.environment["PI_CODING_AGENT_DIR"]) / "models.json"
        known = json.loads(models.read_text())
        known["providers"]["fake"]["models"].append(known["providers"]["fake"]["models"][0] | {"id": "other-model"})
        models.write_text(json.dumps(known))
    for variable in ("HOME", "CODEX_HOME"):
        if variable in its.environment:
            monkeypatch.setenv(variable, its.environment[variable])
    plain = Bench(adapter_for(name, (str(its.program),)), tmp_path / "bench", its.work_dir, its.environment)
    chosen = replace(plain, adapter=adapter_for(name, (str(its.program),), CHOSEN[name]))
    wanted = CHOSEN[name].rpartition("/")[2]
    first = plain.new("hello")
    assert not str(model.requests()[-1]["body"]["model"]).startswith(wanted)
    second = chosen.resume(session(first), "and again")
    assert answered(second).reply == "turn 2: and again"
    assert session(second) == session(first)
    assert str(model.requests()[-1]["body"]["model"]).startswith(wanted)
    answered(chosen.new("afresh"))
    assert str(model.requests()[-1]["body"]["model"]).startswith(wanted)
