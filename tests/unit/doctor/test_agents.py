"""Each step at which an agent can fail is told apart, with the command that takes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from push.config import load
from push.config.settings import Settings
from push.doctor import agents
from push.doctor.findings import Finding
from push.gateway import probing

_REPLIES = """#!{python} -I
import json, sys
session = sys.argv[sys.argv.index("--session-id") + 1]
print(json.dumps({{"type": "result", "is_error": False, "result": {text!r}, "session_id": session}}))
"""


class Bench:
    """A PATH with agents on it."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        (home / "assistant").mkdir(mode=0o700)

    def install(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def settings(self, *lines: str) -> Settings:
        text = "\n".join(['channel = "local"', 'assistant_root = "assistant"', *lines])
        (self.home / "config.toml").write_text(text)
        return load()

    def ask(self, script: str) -> Finding:
        """A claude that is this shell script is asked for one word."""
        self.install("claude", script)
        [found] = agents.ask(self.settings('agent = "claude"'))
        assert list((self.home / "spool").iterdir()) == []
        return found


@pytest.fixture
def bench(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Bench(home, tmp_path)


@pytest.mark.parametrize(
    ("script", "code", "said", "hint"),
    [
        (
            "echo 'Not logged in · Please run /login' >&2; exit 1",
            "agent_not_logged_in",
            "not logged in",
            "claude /login",
        ),
        ("echo rubbish", "agent_output", "not understood", "npm install -g @anthropic-ai/claude-code"),
        ("echo 'API Error: 529 Overloaded' >&2; exit 1", "agent_failed", "cannot be reached", "claude"),
        ("exec sleep 60", "agent_silent", "did not answer within", "claude"),
    ],
)
def test_why_an_agent_does_not_answer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, script: str, code: str, said: str, hint: str
) -> None:
    monkeypatch.setattr(probing, "PROBE_SECONDS", 1.0)
    found = bench.ask(f"#!/bin/sh\n{script}\n")
    assert (found.code, found.hint) == (code, hint)
    assert said in found.message


def test_one_that_answers_is_said_to(bench: Bench) -> None:
    found = bench.ask(_REPLIES.format(python=sys.executable, text="ready"))
    assert (found.status, found.message) == ("ok", "claude answers")


def test_every_agent_of_the_configuration_is_looked_at_at_the_same_time(bench: Bench) -> None:
    for name in ("claude", "codex", "pi"):
        bench.install(name, "#!/bin/sh\necho 99.0.0\n")
    settings = bench.settings('agent = "claude"', 'jobs_agent = "pi"', '[[routes]]\nthread = "x"\nagent = "codex"')
    found = list(agents.look(settings))
    assert [one.status for one in found] == ["ok"] * 3
    assert [one.message.split(":")[0] for one in found] == ["claude", "codex", "pi"]


def test_a_version_that_does_not_come_is_not_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "_VERSION_SECONDS", 0.2)
    bench.install("claude", "#!/bin/sh\nexec sleep 60\n")
    [found] = agents.look(bench.settings('agent = "claude"'))
    assert (found.code, found.status) == ("agent_version", "warning")
    assert found.hint.endswith("/claude --version")


def test_what_the_machine_says_about_a_program_that_does_not_start_is_said(bench: Bench) -> None:
    bench.install("claude", "#!/nowhere/sh\n")
    [found] = agents.look(bench.settings('agent = "claude"'))
    assert found.message.endswith("does not start: No such file or directory")


def test_no_secret_of_ours_reaches_a_program_that_says_its_version(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "8012345678:AAF-x_Q9wErTyUiOpAsDfGhJkLzXcVbNm12")
    bench.install("claude", '#!/bin/sh\necho "9.9.9 ${TELEGRAM_BOT_TOKEN:-none}" | tee "$0.said"\n')
    list(agents.look(bench.settings('agent = "claude"')))
    assert (bench.folder / "claude.said").read_text() == "9.9.9 none\n"


def test_a_program_of_the_owners_own_that_is_missing_is_nothing_that_init_repairs(bench: Bench) -> None:
    [found] = agents.look(bench.settings('agent = "command"', 'command = ["catx"]'))
    assert (found.code, found.hint) == ("agent_missing", "push config show")


def test_another_agent_is_named_only_for_the_one_of_every_conversation(bench: Bench) -> None:
    bench.install("codex", "#!/bin/sh\necho 99.0.0\n")
    settings = bench.settings('agent = "claude"', '[[routes]]\nthread = "x"\nagent = "pi"')
    claude, pi = (one for one in agents.look(settings))
    assert claude.hint == "push init --agent codex"
    assert pi.hint == "npm install -g @mariozechner/pi-coding-agent"


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 1", "warning"), ("echo hello", "warning"), ("exit 127", "failed"), ("kill -9 $$", "failed")],
)
def test_a_wrapper_that_says_no_version_may_work_but_one_that_cannot_start_does_not(
    bench: Bench, script: str, status: str
) -> None:
    bench.install("claude", f"#!/bin/sh\n{script}\n")
    [found] = agents.look(bench.settings('agent = "claude"'))
    assert (found.code, found.status) == ("agent_version", status)
