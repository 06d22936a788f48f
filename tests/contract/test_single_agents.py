"""What only one of the CLIs does, and its adapter must know."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from push.agents.registry import adapter_for
from push.model.values import ComeBackLater, SessionMissing
from tests.agents.benches import answered, bench_for, failed, session, until_it_hangs
from tests.agents.running import Bench


def test_c38_claude_an_id_that_is_in_use_is_burned(claude: Bench) -> None:
    burned = claude.new("[[fail 401]]")
    assert failed(burned).session_id == burned.request.session_id
    assert claude.begin(str(burned.request.session_id), "hello").outcome == SessionMissing("in_use")
    assert answered(claude.resume(str(burned.request.session_id), "hello")).reply == "turn 1: hello"


def test_claude_a_silent_death_may_leave_a_session_and_a_refusal_to_start_does_not(claude: Bench) -> None:
    silent = claude.new("[[nothing]]")
    assert failed(silent).session_id == silent.request.session_id
    refused = replace(claude, adapter=adapter_for("claude", (*claude.adapter.argv(silent.request)[:3], "--nonsense")))
    assert failed(refused.new("hello")).session_id is None


def test_claude_reads_an_array_of_events_too(claude: Bench) -> None:
    assert answered(claude.new("[[array]]")).reply == "turn 1: [[array]]"


def test_claude_interrupted_with_exit_code_zero_has_failed(claude: Bench) -> None:
    run = claude.new("[[interrupted]]")
    assert run.exited.code == 0
    assert failed(run).code == "agent_error"


def test_claude_reports_the_sessions_cost_and_the_runs_tokens(claude: Bench) -> None:
    first = claude.new("hello")
    usage = answered(claude.resume(session(first), "again")).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (100, 4, 0.1)
    assert usage.cumulative == {"cost_usd"}


def test_codex_a_busy_thread_is_for_later(codex: Bench) -> None:
    first = codex.new("hello", instructions="be busy")
    assert isinstance(codex.resume(session(first), "again").outcome, ComeBackLater)


def test_codex_another_threads_answer_is_none(codex: Bench) -> None:
    first = codex.new("hello")
    run = failed(codex.resume(session(first), "[[other-thread]]"))
    assert (run.code, run.session_id) == ("bad_output", None)


def test_c41_codex_a_thread_that_the_provider_cannot_read_is_missing(codex: Bench) -> None:
    first = codex.new("hello")
    assert codex.resume(session(first), "[[unreadable]]").outcome == SessionMissing("missing")
    assert failed(codex.new("[[unreadable]]")).code == "agent_error"


def test_codex_help_with_exit_code_zero_has_failed(codex: Bench) -> None:
    run = replace(codex, adapter=adapter_for("codex", (*codex.adapter.argv(codex.new("x").request)[:3], "--help")))
    assert failed(run.new("hello")).code == "bad_output"


def test_codex_takes_the_last_message_and_the_threads_tokens(codex: Bench) -> None:
    first = codex.new("hello")
    output = answered(codex.resume(session(first), "again"))
    assert output.reply == "turn 2: again"
    assert output.usage is not None
    assert (output.usage.input_tokens, output.usage.output_tokens) == (200, 8)
    assert output.usage.cumulative == {"input_tokens", "output_tokens"}


def test_codex_long_instructions_are_written_once_and_privately(codex: Bench) -> None:
    written = set()
    for _ in range(2):
        assert answered(codex.new("hello", "x" * 150_000)).reply == "turn 1: hello"
        (profile,) = (codex.folder / "store").glob("*push-*")
        written.add((profile.stat().st_ino, profile.stat().st_mode & 0o777))
    assert [mode for _, mode in written] == [0o600]
    resumed = codex.resume(session(codex.new("a", "y" * 150_000)), "b", "y" * 150_000)
    assert answered(resumed).reply == "turn 2: b"


def test_pi_a_session_of_another_folder_is_missing(pi: Bench) -> None:
    first = pi.new("hello", instructions="made elsewhere")
    assert pi.resume(session(first), "y").outcome == SessionMissing("missing")


def test_pi_only_the_last_attempt_counts(pi: Bench) -> None:
    output = answered(pi.new("[[fail-then-answer]]"))
    assert output.reply == "turn 1: [[fail-then-answer]]"
    assert output.usage is not None
    assert (output.usage.input_tokens, output.usage.output_tokens, output.usage.cost_usd) == (200, 8, 0.5)
    assert not output.usage.cumulative


def test_pi_a_session_exists_once_a_message_of_the_assistant_does(pi: Bench) -> None:
    run = until_it_hangs(pi).new("[[work-then-hang]]")
    assert run.resumable == failed(run).session_id is not None
    assert answered(pi.resume(str(run.resumable), "go on")).reply == "turn 1: go on"


def test_pi_knows_best_when_the_context_is_full(pi: Bench) -> None:
    first = pi.new("hello")
    assert pi.resume(session(first), "[[strange-overflow]]").outcome == SessionMissing("context_full")


def test_pi_deltas_are_not_kept(pi: Bench) -> None:
    run = pi.new("[[huge 100000]]")
    assert len(answered(run).reply) == 100_000
    kept = [json.loads(line)["type"] for line in run.exited.stdout.read_bytes().split(b"\n") if line]
    assert "message_update" not in kept


def test_command_a_reply_that_nobody_could_read_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(bench_for("command", tmp_path, monkeypatch).new("[[huge 8500000]]")).code == "output_limit"
