"""A home for a measurement and the processes of Push in it, as a user starts them. Does not own what is measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
#: What is paid for any process of Python: without `site`, environment variables and the folder of the user.
BARE = (PYTHON, "-I", "-S")
PATIENCE_SECONDS = 120.0

#: Keys and settings of the owner, and what would make Python compile anew at every start or write in small pieces.
_FOREIGN = ("PUSH_", "TELEGRAM_", "OPENAI_", "SENTRY_", "PYTHON")


class Broken(Exception):
    """What was to be measured did not happen."""


def push_command() -> list[str]:
    """The installed script, as a user types it; from a checkout without one, the module."""
    script = Path(PYTHON).with_name("push")
    return [str(script)] if script.exists() else [PYTHON, "-m", "push"]


class Home:
    """A PUSH_HOME with `agent` as the program that answers; `lines` end its config.toml."""

    def __init__(self, agent: Sequence[str], *lines: str, channels: Sequence[str] = ("local",)) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="push-bench-"))
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        self.env |= {"PUSH_HOME": str(self.root), "NO_COLOR": "1"}
        config = [
            f"channels = {json.dumps(list(channels))}",
            'agent = "command"',
            f"command = {json.dumps(list(agent))}",
        ]
        config.append(f'assistant_root = "{self.root / "assistant"}"')
        (self.root / "config.toml").write_text("\n".join((*config, *lines)) + "\n")
        (self.root / "assistant").mkdir()
        (self.root / "assistant" / "SOUL.md").write_text("You answer in few words.\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def push_db(self) -> Path:
        """The ledger."""
        return self.root / "push.db"

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
        """Start `push ARGUMENTS`."""
        return subprocess.Popen([*push_command(), *arguments], env=self.env, cwd=ROOT, **options)  # type: ignore[call-overload,no-any-return]

    def push(self, *arguments: str) -> str:
        """Run `push ARGUMENTS` to its end; returns what it printed."""
        command = [*push_command(), *arguments]
        done = subprocess.run(
            command, env=self.env, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            raise Broken(f"push {' '.join(arguments)} exited with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def chat(self, user: str) -> Chat:
        """Start a terminal of `user` that reads a pipe."""
        return Chat(self, user)

    @contextmanager
    def run(self) -> Iterator[Run]:
        """A `push run` that is ready."""
        run = Run(self)
        try:
            run.wait_ready()
            yield run
        finally:
            run.stop()


class Run:
    """`push run`. `started` and `ready` are instants of the monotonic clock, in seconds."""

    def __init__(self, home: Home) -> None:
        self.started = time.monotonic()
        self.process = home.start("run", stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.ready = 0.0
        self._said: list[str] = []
        self._is_ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith(b"Push is ") and not self.ready:
                self.ready = time.monotonic()
                self._is_ready.set()
            self._said.append(line.decode(errors="replace"))
        self._is_ready.set()

    def wait_ready(self) -> None:
        """Wait until it says that it runs."""
        self._is_ready.wait(PATIENCE_SECONDS)
        if not self.ready:
            raise Broken(f"push run did not become ready: {''.join(self._said[-3:]).strip()}")

    def stop(self) -> None:
        """Stop it gracefully, and for good when it does not obey."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


class Chat:
    """`push chat --user NAME` with pipes for its standard input and output."""

    def __init__(self, home: Home, user: str) -> None:
        self.user = user
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        self.process = home.start(
            "chat", "--user", user, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._buffer = b""

    def say(self, *lines: str) -> None:
        """Write lines, all at once."""
        self.stdin.write("".join(f"{line}\n" for line in lines).encode())

    def take(self) -> list[str]:
        """Read what is there, or wait for it; returns the lines that are complete by now."""
        data = os.read(self.stdout.fileno(), 65536)
        if not data:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()
            raise Broken(f"push chat --user {self.user} ended: {said}")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [line.decode() for line in lines]

    def ask(self, line: str) -> list[str]:
        """Write one line and wait for the first lines of an answer."""
        self.say(line)
        return self.take_line()

    def take_line(self) -> list[str]:
        """Wait until at least one line is complete."""
        while not (lines := self.take()):
            pass
        return lines

    def leave(self) -> None:
        """End of its input; it ends by itself when everything is answered."""
        self.stdin.close()

    def close(self) -> None:
        """Let it leave, and wait until it is gone."""
        self.leave()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.stdout.close()
        self._errors.close()
