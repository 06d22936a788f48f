"""Whatever a program prints, an adapter reads it: one of four outcomes, and no exception."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from push.agents.base import Adapter
from push.agents.registry import ADAPTERS, adapter_for
from push.model.values import AgentFailed, AgentOutcome, Answered, Exited, Request

ID = "710526de-3f6c-432c-8eb4-685856dba378"

KEYS = (
    "type", "subtype", "is_error", "result", "session_id", "usage", "errors", "terminal_reason", "total_cost_usd",
    "thread_id", "item", "text", "error", "message", "id", "role", "content", "stopReason", "errorMessage", "reason",
    "input_tokens", "output_tokens", "input", "cost", "total", "api_error_status",
)  # fmt: skip
WORDS = (
    ID, "", "result", "success", "thread.started", "turn.completed", "turn.failed", "item.completed", "agent_message",
    "session", "message_end", "assistant", "stop", "error", "overflow", "prompt_too_long", "compaction_start", "text",
    f"No conversation found with session ID: {ID}", "\ud83d", "\0",
)  # fmt: skip

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
printed = st.lists(
    st.dictionaries(st.sampled_from(KEYS), values, max_size=6).map(lambda event: json.dumps(event).encode())
    | st.binary(max_size=30),
    max_size=6,
).map(b"\n".join)


@dataclass(frozen=True, slots=True)
class Output:
    stdout: bytes
    stderr: bytes
    ending: str
    code: int | None
    truncated: bool
    is_new: bool


outputs = st.builds(
    Output,
    printed,
    st.binary(max_size=40) | st.sampled_from(WORDS).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from(("exited", "timed_out", "cancelled", "terminated", "output_limit", "not_started")),
    st.sampled_from((None, 0, 1, -9, 143)),
    st.booleans(),
    st.booleans(),
)


@given(output=outputs)
def test_any_output_has_an_outcome(output: Output) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stdout, stderr = Path(folder, "out"), Path(folder, "err")
        stdout.write_bytes(output.stdout)
        stderr.write_bytes(output.stderr)
        exited = Exited(output.ending, output.code, None, stdout, stderr, output.truncated)
        for name in ADAPTERS:
            check(adapter_for(name, (name,)), exited, is_new=output.is_new)


def check(adapter: Adapter, exited: Exited, *, is_new: bool) -> None:
    session_id = adapter.new_session_id() if is_new else ID if adapter.resumes else None
    request = Request(session_id, is_new, exited.stdout.parent, "", exited.stdout, "x")
    outcome = adapter.read(request, exited)
    kept = adapter.resumable(request, exited.stdout)
    assert isinstance(outcome, AgentOutcome)
    assert kept is None or adapter.accepts(kept)
    if isinstance(outcome, Answered):
        assert outcome.output.reply.strip().encode()
        assert exited.ending not in {"cancelled", "not_started"}
        if not is_new:
            assert outcome.output.session_id == session_id
    if isinstance(outcome, AgentFailed):
        assert outcome.detail.isprintable()
        assert len(outcome.detail) <= 500
        assert outcome.session_id is None or adapter.accepts(outcome.session_id)
