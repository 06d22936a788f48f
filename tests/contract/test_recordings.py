"""Every recorded run of the real CLIs, read again: each has one right outcome, and none is passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from push.agents.registry import adapter_for
from push.model.values import (
    AgentFailed,
    AgentOutcome,
    Answered,
    ComeBackLater,
    Exited,
    Request,
    SessionMissing,
)

E2BIG = 7

#: An argument that makes the CLI print JSON. Without it: text for people, which is never an answer.
MACHINE = {"claude": "--output-format", "codex": "--json", "pi": "--mode"}

#: What is no answer although it was to be read by machine, or no mere failure although it was not. A word is a code
#: of AgentFailed; `?word` is a SessionMissing; `later` is ComeBackLater. Names may end in `*`.
EXPECTED = {
    "claude": {
        "connection_refused_*": "unavailable",
        "dash_prompt_bare": "agent_error",
        "empty_prompt_arg": "agent_error",
        "empty_reply_json": "empty_reply",
        "error_400_json_noretry": "agent_error",
        "error_401_*": "not_logged_in",
        "error_403_json_noretry": "not_logged_in",
        "error_404_json_noretry": "agent_error",
        "error_413_json_noretry": "prompt_too_long",
        "error_429_json_noretry": "rate_limited",
        "error_500_default_retries_json": "unavailable",
        "error_500_json_noretry": "unavailable",
        "error_500_stream_json": "unavailable",
        "error_529_json_noretry": "unavailable",
        "image_stream_json_input": "bad_output",  # these were made without a session of ours
        "json_schema_*": "bad_output",
        "json_schema_bad": "agent_error",
        "kill_*": "agent_error",
        "least_ok": "bad_output",
        "long_prompt_argv_130k": "not_started",
        "long_prompt_stdin_12mb": "prompt_too_long",
        "max_turns": "agent_error",
        "no_key_json": "not_logged_in",
        "overflow_json": "prompt_too_long",
        "refusal_json": "refused",
        "resume_missing": "?missing",
        "resume_missing_json": "?missing",
        "resume_missing_stream_json": "?missing",
        "session_id_in_use": "?in_use",
        "session_id_reuse_after_failed_first_turn": "?in_use",
        "session_id_reuse_after_not_logged_in": "?in_use",
        "slash_clear_on_resume_json": "bad_output",  # another session answered
        "stream_json_without_verbose": "agent_error",
    },
    "codex": {
        "bad_config_value": "agent_error",
        "bad_utf8_prompt_stdin": "agent_error",
        "builtin_provider_bad_key": "not_logged_in",
        "codex_home_empty_no_auth": "timed_out",
        "codex_home_missing": "agent_error",
        "concurrent_same_session_1": "later",
        "connection_refused_json": "timed_out",
        "connection_refused_no_retry_json": "unavailable",
        "cut_json": "unavailable",
        "dash_prompt_bare": "bad_output",  # help, and exit code 0
        "empty_reply_json": "empty_reply",
        "error_400_json": "agent_error",
        "error_401_*": "not_logged_in",
        "error_403_json": "not_logged_in",
        "error_404_json": "agent_error",
        "error_429_*": "rate_limited",
        "error_500_json": "unavailable",
        "error_500_json_no_retries": "unavailable",
        "error_503_json": "unavailable",
        "instructions_140k_argv": "not_started",
        "invalid_flag": "agent_error",
        "kill_*": "agent_error",
        "last_message_on_error": "agent_error",
        "long_prompt_argv_130k": "not_started",
        "long_prompt_stdin_1100k": "prompt_too_long",
        "midstream_error_json": "unavailable",
        "new_non_git_dir": "agent_error",
        "no_key_json": "not_logged_in",
        "no_prompt_devnull": "agent_error",
        "overflow_json": "prompt_too_long",
        "prompt_equals_subcommand": "agent_error",
        "refusal_json": "refused",
        "resume_malformed_id_json": "bad_output",  # another thread answered
        "resume_missing_*": "?missing",
        "resume_non_git_dir": "agent_error",
        "resume_other_codex_home_json": "?missing",
        "resume_rollout_deleted_json": "?missing",
        "resume_with_s_flag": "agent_error",
        "schema_file_bad": "agent_error",
        "stdin_open_with_arg": "timed_out",
    },
    "pi": {
        "at_prompt_text": "agent_error",
        "connection_refused_json": "unavailable",
        "cut_json": "unavailable",
        "dash_prompt_after_dashdash": "agent_error",
        "dash_prompt_bare": "agent_error",
        "dash_prompt_is_version": "bad_output",
        "dash_prompt_longopt": "agent_error",
        "empty_prompt_arg": "bad_output",
        "empty_reply_json": "empty_reply",
        "error_400_json": "agent_error",
        "error_401_json": "not_logged_in",
        "error_404_json": "agent_error",
        "error_429_json": "rate_limited",
        "error_500_json": "unavailable",
        "huge_reply_json": "bad_output",  # the recording itself was cut
        "invalid_flag": "agent_error",
        "kill_*": "agent_error",
        "long_prompt_argv_130k": "not_started",
        "long_prompt_stdin_300k": "bad_output",  # likewise
        "midstream_error_json": "agent_error",
        "no_prompt_devnull": "bad_output",
        "overflow_json": "prompt_too_long",
        "refusal_json": "refused",
        "resume_after_*": "?missing",
        "resume_malformed_id_json": "?missing",
        "resume_missing_*": "?missing",
        "resume_other_cwd_*": "?missing",
        "resume_path_missing_json": "bad_output",  # another session answered
        "resume_prefix_id_json": "bad_output",  # likewise
        "stdin_open_with_arg": "timed_out",
    },
}


@dataclass(frozen=True, slots=True)
class Recording:
    """One run: its name, the request that it amounts to, how it ended, and whether its output is for machines."""

    case: str
    request: Request
    exited: Exited
    for_machines: bool


def recordings(folder: Path, cli: str) -> Iterator[Recording]:
    for meta_file in sorted((folder / cli).glob("*.meta.json")):
        meta = json.loads(meta_file.read_text())
        case = meta_file.name.removesuffix(".meta.json")
        stdout, stderr = (meta_file.with_name(f"{case}.{stream}") for stream in ("stdout", "stderr"))
        code = meta.get("returncode")
        ending = "not_started" if code is None else "timed_out" if meta["timed_out_by_harness"] else "exited"
        exited = Exited(ending, code, E2BIG if code is None else None, stdout, stderr)
        yield Recording(case, request(cli, meta["argv"]), exited, MACHINE[cli] in meta["argv"])


def request(cli: str, argv: list[str]) -> Request:
    """The request that a recorded command line stands for."""
    session_id, is_new = None, True
    if cli == "codex" and "resume" in argv[:12]:
        named = [word for word in argv if re.fullmatch(r"[0-9a-f-]{36}|not-a-uuid", word)]
        session_id, is_new = (named[0], False) if named else (None, True)
    for option in ("--session-id", "--resume", "--session"):
        if cli != "codex" and option in argv:
            session_id, is_new = argv[argv.index(option) + 1], option == "--session-id"
    return Request(session_id, is_new, Path("/"), "", Path("/none"), "")


def word(outcome: AgentOutcome) -> str:
    """The outcome as `EXPECTED` writes it."""
    match outcome:
        case AgentFailed(code=code):
            return code
        case SessionMissing(reason=reason):
            return f"?{reason}"
        case ComeBackLater():
            return "later"
        case Answered():
            return "answered"


def expected(cli: str, recording: Recording, used: set[str]) -> str | None:
    """The word for this recording; None where any failure is right."""
    for name in (recording.case, *(key for key in EXPECTED[cli] if key.endswith("*"))):
        if name in EXPECTED[cli] and recording.case.startswith(name.removesuffix("*")):
            used.add(name)
            return EXPECTED[cli][name]
    return "answered" if recording.for_machines else None


@pytest.mark.shared
@pytest.mark.parametrize("cli", sorted(EXPECTED))
def test_every_recording_has_its_outcome(cli: str, shared: Path) -> None:
    adapter = adapter_for(cli, (cli,))
    folder = shared / "agents/recorded"
    wrong, used, seen = [], set[str](), 0
    for recording in recordings(folder, cli):
        seen += 1
        outcome = adapter.read(recording.request, recording.exited)
        wanted = expected(cli, recording, used)
        if word(outcome) != wanted and (wanted is not None or not isinstance(outcome, AgentFailed)):
            wrong.append((recording.case, wanted or "any failure", outcome))
        if isinstance(outcome, Answered):
            assert outcome.output.reply == reply(cli, recording.exited.stdout), recording.case
            assert recording.request.session_id in {None, outcome.output.session_id}
    assert not wrong
    assert seen == listed(folder, cli) > 0, "recordings that INDEX.md lists, and recordings that were read"
    assert used == set(EXPECTED[cli]), "expectations without a recording"


def reply(cli: str, stdout: Path) -> str:
    """The reply, found in the simplest way that could be right."""
    events: list[dict[str, Any]] = []
    for line in stdout.read_text().split("\n"):
        if line:
            parsed = json.loads(line)
            events += parsed if isinstance(parsed, list) else [parsed]
    if cli == "claude":
        text = events[-1]["result"]
    elif cli == "codex":
        items = [event["item"] for event in events if event["type"] == "item.completed"]
        text = [item["text"] for item in items if item["type"] == "agent_message"][-1]
    else:
        text = next(part["text"] for part in events[-1]["messages"][-1]["content"] if part["type"] == "text")
    return str(text).replace("\0", "").rstrip()


def listed(folder: Path, cli: str) -> int:
    """How many recordings of a CLI the index lists."""
    section = (folder / "INDEX.md").read_text().split(f"\n## {cli}\n")[1].split("\n## ")[0]
    return len(re.findall(r"^\| [a-zA-Z0-9_]+ \| (?:-?\d+|spawn)", section, re.MULTILINE))
