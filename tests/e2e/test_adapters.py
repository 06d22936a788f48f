"""The adapters against the real claude, codex and pi, through the real runner. The model is scripted.

What the imitations of the contract tests only claim is shown here: that a CLI resumes, keeps or re-reads its
instructions, does not know a deleted session, and leaves alone what was made inert.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from push.agents.registry import adapter_for
from push.model.values import AgentFailed, SessionMissing
from tests.agents.benches import answered, failed, session
from tests.agents.running import Bench
from tests.e2e.clis import NAMES, Model, World, find, model_server, world

pytestmark = [pytest.mark.e2e, pytest.mark.shared, pytest.mark.slow]

SECRET = "what-the-file-holds"


@dataclass(frozen=True, slots=True)
class Real:
    """A real CLI with a bench to run it on, and the model that it talks to."""

    world: World
    bench: Bench
    model: Model

    def seen(self) -> str:
        """All that the model was sent last."""
        return json.dumps(self.model.requests()[-1]["body"], ensure_ascii=False)


@pytest.fixture
def model(shared: Path, tmp_path: Path) -> Iterator[Model]:
    with model_server(shared, tmp_path) as server:
        yield server


@pytest.fixture(params=NAMES)
def real(request: pytest.FixtureRequest, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Real:
    return real_for(request.param, model, tmp_path, monkeypatch)


def real_for(name: str, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Real:
    if find(name) is None:
        pytest.skip(f"{name} is not on PATH and not in .clis (see tests/e2e/clis.txt)")
    its = world(name, tmp_path / name, model.url)
    for variable in ("HOME", "CODEX_HOME"):
        if variable in its.environment:
            monkeypatch.setenv(variable, its.environment[variable])
    bench = Bench(adapter_for(name, (str(its.program),)), tmp_path / "bench", its.work_dir, its.environment)
    return Real(its, bench, model)


def test_new_and_resumed(real: Real) -> None:
    first = real.bench.new("my name is Ada")
    assert answered(first).reply == "turn 1: my name is Ada"
    second = real.bench.resume(session(first), "what is my name")
    assert answered(second).reply == "turn 2: what is my name"
    assert session(second) == session(first) == second.resumable
    usage = answered(second).usage
    assert usage is not None
    assert usage.input_tokens
    assert usage.output_tokens


def test_c36_a_deleted_session_is_missing_and_a_fresh_one_is_not(real: Real) -> None:
    first = real.bench.new("hello")
    files = real.world.sessions()
    assert files
    for file in files:
        file.unlink()
    before = len(real.model.requests())
    assert real.bench.resume(session(first), "again").outcome == SessionMissing("missing")
    assert len(real.model.requests()) == before, "a missing session must have run nothing"
    assert answered(real.bench.new("again")).reply == "turn 1: again"


def test_changed_instructions_reach_a_resumed_session_or_it_says_not(real: Real) -> None:
    first = real.bench.new("hello", "You are the old one.")
    seen = answered(real.bench.resume(session(first), "[[fake:system]]", "You are the new one.")).reply
    assert ("You are the new one." in seen) != real.bench.adapter.reads_instructions_once
    assert ("You are the old one." in seen) == real.bench.adapter.reads_instructions_once


def test_instructions_arrive_exactly(real: Real) -> None:
    text = "true\nLine \"two\" with 'quotes', $HOME, `x`, \\n, é🎩, DEL \x7f.\n-x "
    for size in (3_000, 199_000) if real.world.name == "codex" else (199_000,):  # codex takes them in two ways
        instructions = text + "y" * (size - len(text))
        first = real.bench.new("[[fake:system]]", instructions)
        assert instructions in answered(first).reply
        resumed = real.bench.resume(session(first), "hello", instructions)
        assert answered(resumed).reply == "turn 2: hello"


def test_c37_a_deadline_leaves_nothing_and_keeps_the_session(real: Real) -> None:
    first = real.bench.new("hello")
    late = real.bench.within(3).resume(session(first), "[[fake:hang]]")
    assert failed(late).code == "timed_out"
    assert failed(late).session_id == late.resumable == session(first)
    assert late.exited.left == 0
    assert answered(real.bench.resume(session(first), "are you there")).session_id == session(first)


def test_a_first_run_that_is_stopped_leaves_a_session_or_says_not(real: Real) -> None:
    stopped = real.bench.until(lambda: bool(real.model.requests())).new("[[fake:hang]]")
    assert failed(stopped).code == "cancelled"
    assert (stopped.resumable is None) == (real.world.name == "pi")
    if stopped.resumable:
        assert answered(real.bench.resume(stopped.resumable, "are you there")).session_id == stopped.resumable


@pytest.mark.parametrize("name", ["codex", "pi"])  # claude asks before it runs a shell command, and nobody answers
def test_the_end_of_a_run_is_the_end_of_its_tools(
    name: str, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = real_for(name, model, tmp_path, monkeypatch)
    seconds = str(300 + tmp_path.stat().st_ino % 1_000_000 / 1_000_000)  # no other test's
    stopped = real.bench.until(lambda: bool(sleeping(seconds))).new(f"[[fake:tool sleep {seconds}]]")
    assert failed(stopped).code == "cancelled"
    assert stopped.exited.left == 0
    assert not sleeping(seconds)


def sleeping(seconds: str) -> list[Path]:
    """Living processes that are `sleep SECONDS`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(folder)
        except OSError:
            continue
    return found


ODD = ("-x", "/clear", "@/etc/hostname", "resume", "a\u2028b\x85 日本語 🎩")


def test_odd_prompts_reach_the_model_as_text(real: Real) -> None:
    run = real.bench.new("begin")
    for number, prompt in enumerate(ODD, start=2):
        run = real.bench.resume(session(run), prompt)
        reply = answered(run).reply.replace("\u200b", "")
        assert reply.removeprefix(f"turn {number}: ").strip() == prompt.strip(), prompt


def test_a_long_prompt(real: Real) -> None:
    answered(real.bench.new("[[fake:text read]] " + "word " * 26_000))
    assert "word " * 26_000 in real.model.requests()[-1]["user"] + " "


def test_c46_replies_of_100_kb_and_with_line_separators(real: Real) -> None:
    first = real.bench.new("[[fake:huge 100000]]")
    assert len(answered(first).reply) > 90_000
    separated = real.bench.resume(session(first), "[[fake:text a\u2028b\u2029c\x85d]]")
    assert answered(separated).reply == "a\u2028b\u2029c\x85d"


def test_no_prompt_attaches_a_file(real: Real) -> None:
    for place in (real.world.work_dir / "secret.txt", real.world.work_dir / "with blank.txt"):
        place.write_text(SECRET)
    path = real.world.work_dir / "secret.txt"
    prompts = (
        f"@{path}", "see @secret.txt, (@secret.txt)", 'see @"with blank.txt"', f"終わり。@{path}", f"\ufeff@{path}",
        json.dumps({"role": "user", "content": f"mail @{path}\n@secret.txt"}),
    )  # fmt: skip
    run = real.bench.new("\n".join(prompts))
    answered(run)
    assert SECRET not in real.seen()


def test_no_prompt_pulls_in_a_skill(real: Real) -> None:
    homes = {"claude": ".claude", "codex": ".codex", "pi": ".pi/agent"}
    folder = Path(real.world.environment["HOME"]) / homes[real.world.name] / "skills/my-skill"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: my-skill\ndescription: does things\n---\n{SECRET}\n")
    prompts = {"claude": "/my-skill do", "codex": "x($my-skill)", "pi": "\n/skill:my-skill do"}
    answered(real.bench.new(prompts[real.world.name]))
    assert SECRET not in real.seen()


@pytest.mark.parametrize(
    ("directive", "code"),
    [
        ("error 401", "not_logged_in"),
        ("error 429", "rate_limited"),
        ("error 500", "unavailable"),
        ("empty", "empty_reply"),
    ],
)
def test_c26_errors_have_their_code(real: Real, directive: str, code: str) -> None:
    assert failed(real.bench.new(f"[[fake:{directive}]]")).code == code


def test_a_full_context_asks_for_a_fresh_session(real: Real) -> None:
    first = real.bench.new("hello")
    assert real.bench.resume(session(first), "[[fake:overflow]]").outcome == SessionMissing("context_full")


def test_c38_claude_a_burned_id_can_be_resumed(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = real_for("claude", model, tmp_path, monkeypatch)
    burned = real.bench.new("[[fake:error 400]]")
    session_id = failed(burned).session_id
    assert session_id is not None
    assert real.bench.begin(session_id, "hello").outcome == SessionMissing("in_use")
    assert answered(real.bench.resume(session_id, "hello")).session_id == session_id


def test_no_login(real: Real) -> None:
    environment = {name: value for name, value in real.bench.environment.items() if "KEY" not in name}
    run = replace(real.bench, environment=environment).new("hello")
    assert isinstance(run.outcome, AgentFailed) == (real.world.name != "pi")  # pi takes the name for the key
    if isinstance(run.outcome, AgentFailed):
        assert run.outcome.code == "not_logged_in"
