"""A terminal with a bash in it, as a reader has one: a real pty, typed into, read from.

Owns bytes, waiting for them and exit codes; does not own what is right (`tests.docs.comparing`).
"""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_PROMPT = re.compile(r"\x1e(\d+)\x1e")
#: A session of its own, whose terminal is this one: so that Ctrl-C reaches what runs in front.
_LEADER = """import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])"""
_BASH = ("bash", "--noprofile", "--norc", "--noediting", "-i")
_COLUMNS = 130
SECONDS = 60.0  # for one command, on a machine that is busy


class Terminal:
    """One window. Every command must end within SECONDS, or be left running on purpose.

    `become` is put in front of the shell's command line: what makes it another user's.
    """

    def __init__(self, env: Mapping[str, str], folder: Path, become: Sequence[str] = ()) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _COLUMNS, 0, 0))
        given = {**env, "PS1": "\x1e$?\x1e", "PS2": "", "TERM": "dumb"}
        command = [sys.executable, "-I", "-S", "-c", _LEADER, *become, *_BASH]
        self._bash = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=given, cwd=folder)
        os.close(slave)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._seen = ""
        self._until(_PROMPT.search, "the shell's prompt")
        self._do("set +H")

    @property
    def printed(self) -> str:
        """What was printed since the last command was typed, without the command itself."""
        return self._seen

    def type(self, text: str) -> None:
        """Press keys. `^D` and `^C` are one key each."""
        keys = {"^D": "\x04", "^C": "\x03"}.get(text, f"{text}\n")
        os.write(self._master, keys.encode())

    def enter(self, command: str) -> None:
        """Type a command of one line or more, and forget what was printed before."""
        self._seen = ""
        self.type(command)
        echo = [f"{line}\r\n" for line in command.split("\n")]
        self._until(lambda seen: all(line in seen for line in echo) or None, f"the echo of {command!r}")
        for line in echo:
            self._seen = self._seen.replace(line, "", 1)

    def wait_for(self, look: Callable[[str], T | None], what: str) -> T:
        """Wait until what was printed looks like that. Fails when the command ends before, and after the time."""

        def looked(seen: str) -> T | None:
            found = look(seen)
            if not found and _PROMPT.search(seen):
                raise AssertionError(f"the command ended before {what}; printed was:\n{seen}")
            return found

        return self._until(looked, what)

    def forget(self) -> None:
        """What was printed so far is not looked at again."""
        self._seen = ""

    def finish(self, seconds: float = SECONDS) -> tuple[int, str]:
        """Wait for the prompt: the command's exit code and what it printed."""
        prompt = self._until(_PROMPT.search, "the end of the command", seconds)
        return int(prompt[1]), self._seen[: prompt.start()]

    def close(self) -> None:
        """Hang up, and kill what does not go: the whole session, but for what left it."""
        self._bash.send_signal(signal.SIGHUP)
        os.close(self._master)
        try:
            self._bash.wait(5)
        except subprocess.TimeoutExpired:
            self._bash.kill()
            self._bash.wait(5)

    def _do(self, command: str) -> None:
        self.enter(command)
        self.finish()

    def _until(self, look: Callable[[str], T | None], what: str, seconds: float = SECONDS) -> T:
        deadline = time.monotonic() + seconds
        while not (found := look(self._seen)):
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"waited in vain for {what}; printed was:\n{self._seen}")
        return found

    def _read(self, seconds: float) -> bool:
        """Take what is there; False when nothing comes in time, or nobody prints any more."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux: the last process that had the terminal open is gone
            return False
        self._seen += self._decoder.decode(data)
        return bool(data)
