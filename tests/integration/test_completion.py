"""The words of `push` are completed by the shells themselves, with the scripts that `push completion` prints."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "$ "}


class Shell:
    """An interactive shell on a terminal, into which is typed."""

    def __init__(self, env: dict[str, str], *words: str) -> None:
        self._master, slave = pty.openpty()
        self._popen = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True)
        os.close(slave)

    def type(self, text: str, wanted: str) -> None:
        """Press keys, and wait until something is on the screen."""
        os.write(self._master, text.encode())
        seen, deadline = "", time.monotonic() + 20
        while wanted not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([self._master], (), (), 0.1)[0]:
                seen += os.read(self._master, 65536).decode(errors="replace")

    def close(self) -> None:
        self._popen.kill()
        self._popen.wait()
        os.close(self._master)


@pytest.fixture
def bash(env: dict[str, str]) -> Iterator[Shell]:
    shell = Shell(env, "bash", "--noprofile", "--norc", "-i")
    shell.type('eval "$(push completion bash)"; echo re""ady\n', "ready")
    yield shell
    shell.close()


def test_bash_completes_nouns_verbs_and_options(bash: Shell) -> None:
    bash.type("push ret\t", "push retries ")
    bash.type("sh\t", "show ")
    bash.type("\x15push conversations pa\t", "pause ")
    bash.type("\x15push completion f\t", "fish ")
    bash.type("\x15push status --wa\t", "--watch ")
    bash.type("\x15push retries \t\t", "drop")  # a noun alone shows its verbs


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(env: dict[str, str], shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = subprocess.run([BIN / "push", "completion", shell], capture_output=True, check=True, env=env).stdout
    parsed = subprocess.run([shell, "-n"], input=script, capture_output=True, check=False, env=env)
    assert (parsed.returncode, parsed.stderr) == (0, b"")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "wanted"), [("push ret", {"retries"}), ("push retries ", {"list", "show", "now", "drop"})]
)
def test_what_other_shells_ask_is_answered(env: dict[str, str], shell: str, words: str, wanted: set[str]) -> None:
    last = words.rpartition(" ")[2]
    asked = {
        "_PUSH_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": last if shell == "fish" else str(len(words.split(" ")) - 1),
    }
    answer = subprocess.run([BIN / "push"], capture_output=True, text=True, check=True, env=env | asked).stdout
    values = answer.split("\n")[1::3] if shell == "zsh" else [line.split(",")[1] for line in answer.splitlines()]
    assert wanted <= {value.split("\t")[0] for value in values}


def test_a_noun_is_completed_without_importing_what_it_does(env: dict[str, str]) -> None:
    code = "import sys; from push.cli.main import main\ntry: main([])\nfinally: print(*sys.modules, file=sys.stderr)"
    asked = {"_PUSH_COMPLETE": "bash_complete", "COMP_WORDS": "push r", "COMP_CWORD": "1"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env | asked)
    assert found.stdout.split() == ["plain,run", "plain,retries", "plain,reload"]
    assert "push.cli.retries" not in found.stderr


def test_a_shell_that_is_none_is_answered_with_those_there_are(env: dict[str, str]) -> None:
    found = subprocess.run([BIN / "push", "completion", "tcsh"], capture_output=True, text=True, check=False, env=env)
    assert found.returncode == 2
    assert "'bash', 'zsh', 'fish'" in found.stderr
