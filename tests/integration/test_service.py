"""What `push run` says: that it runs, what will fail, and what it leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest


class Run:
    """A `push run` whose standard error is read line by line."""

    def __init__(self, home: Path, command: str) -> None:
        (home / "config.toml").write_text(f'channels = ["local"]\nagent = "command"\ncommand = ["{command}"]\n')
        self.process = subprocess.Popen([sys.executable, "-m", "push", "run"], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.lines: IO[str] = self.process.stderr

    def until(self, word: str) -> str:
        for line in self.lines:
            if word in line:
                return line
        raise AssertionError(f"it ended without saying {word!r}")


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """An agent that tells when it began, and ends when it is allowed to."""
    program = tmp_path / "agent"
    program.write_text(
        f"#!/bin/sh\ntouch {tmp_path}/begun\nwhile [ ! -e {tmp_path}/end ]; do sleep 0.05; done\necho done\n"
    )
    program.chmod(0o755)
    return program


@pytest.fixture
def end(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "end"
    (tmp_path / "end").touch()  # a runner that we left goes on until then; the guard against leftovers waits for it


def test_an_agent_that_is_not_there_is_said_at_the_start(home: Path) -> None:
    run = Run(home, "/nowhere/agent")
    assert "push doctor" in run.until("Warning: the agent's program /nowhere/agent is not found")
    run.process.send_signal(signal.SIGINT)
    assert run.until("Stopped.") == "Stopped.\n"
    assert run.process.wait(20) == 0
    run.lines.close()


def test_instructions_that_cannot_be_read_are_said_at_the_start(home: Path) -> None:
    (home / "assistant").mkdir()
    run = Run(home, "cat")
    assert "push doctor" in run.until(f"Warning: cannot use {home}/assistant/SOUL.md: it is missing")
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(20) == 0
    run.lines.close()


def test_what_goes_on_is_said_at_the_end_and_collected_later(home: Path, agent: Path, end: Path) -> None:
    run = Run(home, str(agent))
    run.until("Push is polling")
    chat = [sys.executable, "-m", "push", "chat", "--user", "ann"]
    note = subprocess.run([*chat, "--no-wait", "hello"], capture_output=True, text=True, check=True).stderr
    assert note == ""
    while not (agent.parent / "begun").exists():
        assert run.process.poll() is None
        time.sleep(0.02)
    run.process.send_signal(signal.SIGTERM)
    assert run.until("Stopped.").startswith("Stopped. 1 agent works on")
    assert run.process.wait(20) == 0
    run.lines.close()
    end.touch()
    done = subprocess.run([*chat, "more"], capture_output=True, text=True, check=True)
    assert done.stdout == "done\ndone\n"


def test_a_message_that_nobody_works_on_is_said_to_wait(home: Path, agent: Path, end: Path) -> None:
    (home / "config.toml").write_text(f'channels = ["local"]\nagent = "command"\ncommand = ["{agent}"]\n')
    chat = [sys.executable, "-m", "push", "chat", "--no-wait", "hello"]
    done = subprocess.run(chat, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    assert "No gateway is running" in done.stderr
