"""What a run is doing, from what it printed so far; and the model that an adapter is given."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path

import pytest

from push.agents.reading import RECENT_LIMIT
from push.agents.registry import ADAPTERS, adapter_for
from tests.contract.test_agents import FORBIDDEN, HARMLESS, shapes

KNOWN = {
    "thinking", "writing", "planning", "running a command", "reading files", "changing files", "searching the web",
    "waiting for its service", "summing up the conversation", "using a tool",
}  # fmt: skip


def _activity(agent: str, folder: Path, *printed: str | bytes) -> str | None:
    out = folder / "out"
    out.write_bytes(b"".join(text if isinstance(text, bytes) else f"{text}\n".encode() for text in printed))
    return adapter_for(agent, (agent,)).activity(out)


def _item(kind: str, item: str, **more: str) -> str:
    return json.dumps({"type": f"item.{kind}", "item": {"id": "item_1", "type": item} | more})


def _tool(name: str) -> str:
    return json.dumps({"type": "tool_execution_start", "toolName": name, "args": {"command": "secretword"}})


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (['{"type":"thread.started"}'], None),
        (['{"type":"turn.started"}'], "thinking"),
        ([_item("started", "command_execution", command="rm secretword")], "running a command"),
        ([_item("started", "command_execution"), _item("completed", "command_execution")], "thinking"),
        ([_item("started", "web_search"), _item("completed", "error")], "searching the web"),
        ([_item("started", "mcp_tool_call", server="s", tool="calendar_list")], "using calendar_list"),
        ([_item("started", "mcp_tool_call", tool="rm -rf; secret")], "using a tool"),
        ([_item("started", "todo_list"), '{"type":"item.st'], "planning"),
    ],
)
def test_codex_says_what_began(tmp_path: Path, printed: list[str], expected: str | None) -> None:
    assert _activity("codex", tmp_path, *printed) == expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (['{"type":"session"}'], None),
        (['{"type":"session"}', '{"type":"agent_start"}'], "thinking"),
        ([_tool("bash")], "running a command"),
        ([_tool("bash"), '{"type":"tool_execution_update"}'], "running a command"),
        ([_tool("bash"), '{"type":"tool_execution_end"}'], "thinking"),
        ([_tool("Read")], "reading files"),
        ([_tool("my-tool")], "using my-tool"),
        (['{"type":"auto_retry_start"}'], "waiting for its service"),
    ],
)
def test_pi_says_what_began(tmp_path: Path, printed: list[str], expected: str | None) -> None:
    assert _activity("pi", tmp_path, *printed) == expected


@pytest.mark.parametrize("agent", sorted(ADAPTERS))
@pytest.mark.parametrize(
    "printed",
    [b"", b"\n\n", b"\xff\xfe\n", b"null\n[]\n7\n", b'{"type":7}\n{"type":"item.started","item":[]}\n', b"[" * 99_999,
     b'{"type":"item.started","item":{"tool":{}}}\n{"type":"tool_execution_start","toolName":[]}\n',
     b'{"type":["x"]}\n{"type":{}}\n'],
)  # fmt: skip
def test_rubbish_is_no_activity_and_no_error(tmp_path: Path, agent: str, printed: bytes) -> None:
    assert _activity(agent, tmp_path, printed) in (None, "using a tool")


@pytest.mark.parametrize("agent", sorted(ADAPTERS))
def test_a_file_that_is_not_there_or_cannot_be_read(tmp_path: Path, agent: str) -> None:
    adapter = adapter_for(agent, (agent,))
    assert adapter.activity(tmp_path / "none") is None
    assert adapter.activity(tmp_path) is None


def test_only_the_end_of_the_output_is_read(tmp_path: Path) -> None:
    """However long it is; a line that is cut there is no event, whatever it looks like."""
    long = "x" * RECENT_LIMIT
    began = _item("started", "web_search")
    assert _activity("codex", tmp_path, began, long) is None
    assert _activity("codex", tmp_path, long, began) == "searching the web"
    padding = "y" * (RECENT_LIMIT - len(began) - 1)
    assert _activity("codex", tmp_path, long + began, padding[:-1]) is None


@pytest.mark.shared
@pytest.mark.parametrize("agent", ["codex", "pi"])
def test_at_every_moment_of_a_recorded_run_it_is_one_of_these(shared: Path, tmp_path: Path, agent: str) -> None:
    seen = set()
    for record in sorted((shared / "agents" / "recorded" / agent).glob("*.stdout")):
        lines = record.read_bytes()[:500_000].split(b"\n")[:60]
        for printed in accumulate(lines, lambda before, line: before + b"\n" + line):
            seen.add(_activity(agent, tmp_path, printed))
    assert seen - {None} <= KNOWN
    assert {"thinking", "running a command"} <= seen


@pytest.mark.parametrize("agent", sorted(ADAPTERS))
def test_a_model_is_one_argument_and_gives_no_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    plain, chosen = adapter_for(agent, (agent,)), adapter_for(agent, (agent,), "gpt-x")
    for request in shapes(plain, tmp_path):
        before, after = _argv(plain.argv(request)), _argv(chosen.argv(request))
        if chosen.takes_model:
            place = after.index("gpt-x")
            assert after[place - 1] in ("--model", "-m")
            assert after[: place - 1] + after[place + 1 :] == before
        else:
            assert after == before
        assert not any(FORBIDDEN.search(word) for word in set(after) - HARMLESS)


def _argv(argv: tuple[str, ...]) -> list[str]:
    """Without the instructions, which have words of their own, and the name of the profile, which is made anew."""
    return [word for word in argv if not word.startswith(("developer_instructions=", "push-"))]
