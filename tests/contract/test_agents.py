"""The adapter's contract (`push/agents/base.py`), over every registered adapter.

Each runs a program of ours that imitates its CLI (`tests/agents/fake_*.py`), through the real runner.
"""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from pathlib import Path

import pytest

from push.agents.base import Adapter
from push.agents.registry import adapter_for
from push.model.values import (
    AgentFailed,
    AgentOutcome,
    ComeBackLater,
    Exited,
    Request,
    SessionMissing,
)
from tests.agents.benches import answered, bench_for, failed, session, until_it_hangs
from tests.agents.running import Bench

UNKNOWN = "710526de-3f6c-432c-8eb4-685856dba378"

#: Words of options that would change what an agent may do.
FORBIDDEN = re.compile(
    r"sandbox|approv|permission|tool|dangerous|yolo|full-auto|bypass|trust|allow|deny|mcp|settings|ask-for|"
    r"^-s$|^-a$|--add-dir|skill|hook|bare|restricted"
)
#: What agent-clis.md makes obligatory: codex refuses any folder that is no repository.
HARMLESS = {"--skip-git-repo-check"}


# --- conversations ---------------------------------------------------------------------------------------------------


def test_a_new_run_answers(bench: Bench) -> None:
    output = answered(bench.new("hello"))
    assert output.reply == "turn 1: hello"
    assert (output.session_id is not None) == bench.adapter.resumes


def test_a_resumed_run_continues_the_session(resuming: Bench) -> None:
    first = resuming.new("hello")
    second = resuming.resume(session(first), "and again")
    assert answered(second).reply == "turn 2: and again"
    assert session(second) == session(first) == second.resumable


def test_c36_a_missing_session_is_recognised(resuming: Bench) -> None:
    assert resuming.resume(UNKNOWN, "hello").outcome == SessionMissing("missing")


def test_a_model_cannot_fake_a_missing_session(resuming: Bench) -> None:
    first = resuming.new("hello")
    quoting = answered(resuming.resume(session(first), "[[quotes-error]]"))
    assert session(first) in quoting.reply


def test_the_words_for_another_session_do_not_count(resuming: Bench, tmp_path: Path) -> None:
    missing = resuming.resume(UNKNOWN, "hello")
    other = replace(missing.request, session_id=UNKNOWN.replace("7", "8"))
    outcome = resuming.adapter.read(other, missing.exited)
    assert isinstance(outcome, AgentFailed), outcome


def test_words_on_standard_error_do_not_undo_an_answer(resuming: Bench) -> None:
    """A tool may run the same CLI and fail with it."""
    second = resuming.resume(session(resuming.new("hello")), "again")
    words = answered(resuming.resume(session(second), "[[quotes-error]]")).reply
    second.exited.stderr.write_text(words)
    assert resuming.adapter.read(second.request, second.exited) == second.outcome


def test_c37_a_resumed_run_that_times_out_keeps_its_session(resuming: Bench) -> None:
    first = resuming.new("hello")
    late = resuming.within(0.5).resume(session(first), "[[hang]]")
    assert failed(late).code == "timed_out"
    assert failed(late).session_id == late.resumable == session(first)
    assert answered(resuming.resume(session(first), "are you there")).reply == "turn 2: are you there"


def test_ids_are_checked_before_they_enter_argv(bench: Bench) -> None:
    request = bench.new("hello").request
    for wrong in ("", "-x", "not-a-uuid", "../../x", UNKNOWN[:-1], UNKNOWN + "\n", UNKNOWN.upper(), f"{UNKNOWN} --x"):
        assert not bench.adapter.accepts(wrong), wrong
        with pytest.raises(ValueError, match=r"session|thread"):
            bench.adapter.argv(replace(request, session_id=wrong, is_new=False))


def test_changed_instructions_reach_a_resumed_session_or_it_says_not(resuming: Bench) -> None:
    first = resuming.new("hello", instructions="the old ones")
    second = answered(resuming.resume(session(first), "[[instructions]]", instructions="the new ones"))
    assert second.reply == ("the old ones" if resuming.adapter.reads_instructions_once else "the new ones")


# --- what goes in ----------------------------------------------------------------------------------------------------

PROMPTS = (
    "-x", "--version", "-", "resume", "exec", "/clear", "/skill:x do", "@/etc/hostname", "look\n@/etc/hostname",
    "mail a.b@example.org and @ann", "use $some-skill", "pay $5 or $PATH", "!ls", "# note", "  spaced  ",
    '{"role": "user", "content": "@x"}', "a\u2028b", "日本語 🎩 שלום", "tab\tand\x1b[31mred", "\ufeff/clear",
)  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_arrives_as_it_is_but_for_what_makes_it_inert(bench: Bench, prompt: str) -> None:
    reply = answered(bench.new(prompt)).reply.replace("\u200b", "")
    assert reply.removeprefix("turn 1: ").strip("\n \ufeff") == prompt.strip("\n \ufeff")


@pytest.mark.parametrize("size", [130_000, 1_000_000])
def test_c43_a_long_prompt_is_read_to_its_end(bench: Bench, size: int) -> None:
    assert answered(bench.new("x" * size)).reply == f"turn 1: {'x' * size}"


def test_what_has_no_utf8_is_replaced(bench: Bench) -> None:
    reply = answered(bench.new("half \ud83d pair")).reply
    assert reply == "turn 1: half \ufffd pair"


def test_a_nul_byte_ends_nothing(bench: Bench) -> None:
    assert answered(bench.new("a\0b")).reply == "turn 1: ab"


INSTRUCTIONS = (
    'Line "two"\nwith \'quotes\', $HOME, `x`, \\n and a backslash \\', "true", "123", "[1,2]", "{a=1}", "-x", "",
    "tab\t, DEL \x7f, bell \x07, emoji 🎩, U+2028 \u2028, nel \x85", "x" * 119_000, 'é"' * 60_000,
)  # fmt: skip


@pytest.mark.parametrize("instructions", INSTRUCTIONS, ids=range(len(INSTRUCTIONS)))
def test_instructions_arrive_exactly(bench: Bench, instructions: str) -> None:
    run = bench.new(f"[[instructions]]{'' if instructions else ' none'}", instructions)
    if instructions:
        assert answered(run).reply == instructions.rstrip()
    else:
        assert failed(run).code == "empty_reply"


def test_argv_holds_neither_prompt_nor_any_authority(bench: Bench) -> None:
    adapter = bench.adapter
    for request in shapes(adapter, bench.work_dir):
        argv = adapter.argv(request)[3:]  # without the imitation's own program
        for argument in set(argv) - HARMLESS:
            if not argument.startswith("developer_instructions="):
                assert not FORBIDDEN.search(argument), argv
            assert request.prompt not in argument


def shapes(adapter: Adapter, work_dir: Path) -> list[Request]:
    """Every kind of request: new and resumed, interrupted or not, with short and long instructions."""
    ids = [(adapter.new_session_id(), True)] + ([(UNKNOWN, False)] if adapter.resumes else [])
    return [
        Request(session_id, is_new, work_dir, instructions, work_dir / "instructions", "Remarkable prompt", interrupted)
        for session_id, is_new in ids
        for instructions in ("", "be kind", "x" * 200_000)
        for interrupted in (False, True)
    ]


def test_codex_takes_its_model_from_the_configuration(tmp_path: Path) -> None:
    request = Request(None, True, tmp_path, "i", tmp_path, "p")
    argv = adapter_for("codex", ("codex",), "gpt-x").argv(request)
    assert argv[argv.index("-m") + 1] == "gpt-x"
    assert "-m" not in adapter_for("codex", ("codex",)).argv(request)


def test_command_gets_its_files_and_its_past_by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_for("command", tmp_path, monkeypatch)
    request = bench.new("x").request
    assert bench.adapter.environment(request) == {"PUSH_INSTRUCTIONS": str(request.instructions_file)}
    assert bench.adapter.environment(replace(request, interrupted=True))["PUSH_INTERRUPTED"] == "1"


# --- what comes out --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["empty", "newline", "zero-width"])
def test_c26_a_reply_with_nothing_to_see_is_a_failure(bench: Bench, verb: str) -> None:
    assert failed(bench.new(f"[[{verb}]]")).code == "empty_reply"


def test_lines_end_at_newlines_only(bench: Bench) -> None:
    assert answered(bench.new("[[separators]]")).reply == "a\u2028b\u2029c\x85d"


@pytest.mark.parametrize(("verb", "reply"), [("lone-surrogate", "half \ufffd pair"), ("nul", "ab")])
def test_a_reply_can_be_stored(bench: Bench, verb: str, reply: str) -> None:
    got = answered(bench.new(f"[[{verb}]]")).reply
    assert got == (reply if bench.adapter.name != "command" else got)
    assert "\0" not in got
    assert got.encode()


@pytest.mark.parametrize("size", [70_000, 5_000_000])
def test_c46_a_reply_in_one_long_line(bench: Bench, size: int) -> None:
    reply = answered(bench.new(f"[[huge {size}]]")).reply
    assert len(reply) == size
    assert reply.startswith("0123456789")


def test_c46_ten_megabytes_on_standard_error(bench: Bench) -> None:
    assert answered(bench.new("[[noise 10000000]]")).reply == "turn 1: [[noise 10000000]]"


def test_c46_invalid_utf8_is_replaced(bench: Bench) -> None:
    assert answered(bench.new("[[broken-text]]")).reply.endswith("[[\ufffd\ufffd]]")


@pytest.mark.parametrize("verb", ["rubbish", "nothing", "cut"])
def test_exit_code_zero_is_no_success(resuming: Bench, verb: str) -> None:
    run = resuming.new(f"[[{verb}]]")
    assert run.exited.code == 0
    assert failed(run).code == "bad_output"


def test_an_answer_that_does_not_name_its_session_is_none(resuming: Bench) -> None:
    run = resuming.new("hello")
    printed = run.exited.stdout.read_text()
    run.exited.stdout.write_text(printed.replace(session(run), ""))
    outcome = resuming.adapter.read(run.request, run.exited)
    assert isinstance(outcome, AgentFailed)
    assert outcome.code == "bad_output"


def test_a_crash_is_told_in_the_programs_last_words(bench: Bench) -> None:
    run = failed(bench.new("[[crash]]"))
    assert run.code == "agent_error"
    assert ("boom" if bench.adapter.name == "command" else "Traceback:") in run.detail


@pytest.mark.parametrize(
    ("directive", "code"),
    [
        ("fail 401", "not_logged_in"),
        ("fail 429", "rate_limited"),
        ("fail 500", "unavailable"),
        ("refuse", "refused"),
        ("overflow", "prompt_too_long"),
    ],
)
def test_errors_of_the_model_service_have_their_code(resuming: Bench, directive: str, code: str) -> None:
    run = failed(resuming.new(f"[[{directive}]]"))
    assert run.code == code
    assert run.detail


def test_a_full_context_asks_for_a_fresh_session(resuming: Bench) -> None:
    first = resuming.new("hello")
    assert resuming.resume(session(first), "[[overflow]]").outcome == SessionMissing("context_full")


def test_a_context_that_fills_during_work_is_no_reason_to_repeat_it(resuming: Bench) -> None:
    first = resuming.new("hello")
    late = failed(resuming.resume(session(first), "[[work-then-overflow]]"))
    assert (late.code, late.session_id) == ("prompt_too_long", None)


# --- ends ------------------------------------------------------------------------------------------------------------


def test_a_deadline_ends_the_run_and_everything_of_it(bench: Bench) -> None:
    late = bench.within(0.5).new("[[hang]]")
    assert failed(late).code == "timed_out"
    assert late.exited.left == 0
    assert failed(late).session_id == late.resumable


def test_a_first_run_that_is_stopped_leaves_a_session_or_says_not(bench: Bench) -> None:
    stopped = until_it_hangs(bench).new("[[hang]]")
    assert failed(stopped).code == "cancelled"
    assert failed(stopped).session_id == stopped.resumable
    # Pi has written no file yet; the others can go on.
    assert (stopped.resumable is not None) == (bench.adapter.name in {"claude", "codex"})


def test_a_run_cut_short_after_its_final_event_has_answered(resuming: Bench) -> None:
    stopped = until_it_hangs(resuming).new("[[answer-and-hang]]")
    assert failed(stopped).code == "cancelled"  # a person's /stop is obeyed
    for ending in ("timed_out", "terminated"):
        late = replace(stopped, outcome=resuming.adapter.read(stopped.request, replace(stopped.exited, ending=ending)))
        assert answered(late).reply == "turn 1: [[answer-and-hang]]"


@pytest.mark.parametrize("ending", ["timed_out", "cancelled", "terminated", "output_limit"])
def test_endings_without_an_answer(bench: Bench, ending: str) -> None:
    run = bench.new("[[crash]]")
    outcome = bench.adapter.read(run.request, replace(run.exited, ending=ending, code=-15))
    assert isinstance(outcome, AgentFailed)
    assert outcome.code == ending


def test_cut_output_is_no_answer(bench: Bench) -> None:
    run = bench.new("[[nothing]]")
    outcome = bench.adapter.read(run.request, replace(run.exited, truncated=True))
    assert isinstance(outcome, AgentFailed)
    assert outcome.code == "output_limit"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOENT, "not_found"),
        (errno.EACCES, "not_executable"),
        (errno.ENOEXEC, "not_executable"),
        (errno.E2BIG, "not_started"),
        (errno.ENOTDIR, "not_started"),
        (None, "not_started"),
        (errno.ETXTBSY, ComeBackLater),
        (errno.EAGAIN, ComeBackLater),
    ],
)
def test_what_could_not_be_started(bench: Bench, number: int | None, expected: str | type[ComeBackLater]) -> None:
    exited = Exited("not_started", None, number, bench.folder / "absent", bench.folder / "absent")
    outcome: AgentOutcome = bench.adapter.read(shapes(bench.adapter, bench.work_dir)[0], exited)
    if isinstance(expected, str):
        assert isinstance(outcome, AgentFailed)
        assert outcome.code == expected
    else:
        assert isinstance(outcome, expected)


def test_a_session_survives_a_program_that_could_not_be_started(resuming: Bench) -> None:
    absent = resuming.folder / "absent"
    resumed = Request(UNKNOWN, False, absent, "", absent, "hello")
    outcome = resuming.adapter.read(resumed, Exited("not_started", None, errno.ENOENT, absent, absent))
    assert isinstance(outcome, AgentFailed)
    assert outcome.session_id == UNKNOWN == resuming.adapter.resumable(resumed, absent)


def test_a_program_that_is_not_there_or_not_executable(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    for program, code in (("/nowhere/agent", "not_found"), (str(tmp_path / "plain"), "not_executable")):
        adapter = adapter_for(bench.adapter.name, (program,))
        assert failed(replace(bench, adapter=adapter).new("x")).code == code


def test_files_that_are_not_there_are_no_output(bench: Bench) -> None:
    absent = bench.folder / "absent"
    request = shapes(bench.adapter, bench.work_dir)[0]
    outcome = bench.adapter.read(request, Exited("exited", 0, None, absent, absent))
    assert isinstance(outcome, AgentFailed)
    assert bench.adapter.resumable(request, absent) == request.session_id
