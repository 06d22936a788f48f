"""A person at a terminal who sets Push up: a home, a folder, programs on PATH, a Telegram, and a screen.

Owns the terminal and what stands around it; does not own what is asserted.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.telegram.remote import FakeTelegram

PUSH = (sys.executable, "-m", "push")
SECONDS = 30.0

#: Makes the terminal on standard input the controlling one, so that Ctrl-C is a signal.
_SESSION = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
_LINK = re.compile(r"https://t\.me/(\w+)\?start=([A-Za-z0-9_-]+)")


class Screen:
    """One command on a terminal. `text` is all that was shown."""

    def __init__(self, words: tuple[str, ...], env: dict[str, str], folder: Path) -> None:
        self._master, worker = os.openpty()
        self.text = ""
        self._seen = 0
        self.process = subprocess.Popen(
            (sys.executable, "-c", _SESSION, *PUSH, *words),
            stdin=worker,
            stdout=worker,
            stderr=worker,
            env=env,
            cwd=folder,
        )
        os.close(worker)

    def until(self, wanted: str) -> str:
        """Wait until `wanted` is shown, behind what was waited for before; returns what came up to its end."""
        deadline = time.monotonic() + SECONDS
        while (at := self.text.find(wanted, self._seen)) < 0:
            assert self._read(deadline - time.monotonic()), f"waited in vain for {wanted!r}; shown was:\n{self.text}"
        shown = self.text[self._seen : at + len(wanted)]
        self._seen = at + len(wanted)
        return shown

    def code(self) -> str:
        """Wait for the one-time link, and return its code."""
        while (match := _LINK.search(self.text, self._seen)) is None or match.end() == len(self.text):
            assert self._read(SECONDS), f"no link; shown was:\n{self.text}"
        self._seen = match.end()
        return match[2]

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def answer(self, question: str, keys: str) -> None:
        """Wait for a question, and type a line."""
        self.until(question)
        self.type(f"{keys}\n")

    @property
    def echoes(self) -> bool:
        """Whether the screen shows what is typed."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def end(self) -> int:
        """Wait for the end of the command: its exit code."""
        deadline = time.monotonic() + SECONDS
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(max(deadline - time.monotonic(), 1.0))

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        os.close(self._master)

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the last process that had the terminal open is gone
            return False
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


class Desk:
    """`telegram` is asked in place of the real one: so a configuration says that was there before."""

    def __init__(self, home: Path, folder: Path, telegram: FakeTelegram) -> None:
        self.home = home
        self.folder = folder
        self.telegram = telegram
        self.config = home / "config.toml"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.env = os.environ | {"PUSH_HOME": str(home), "PATH": f"{self.bin}:/usr/bin:/bin"}
        self.config.write_text(f'# mine\n\n# where Telegram is\n[telegram]\nbase_url = "{telegram.url}"\n')
        self.config.chmod(0o600)
        self._screens: list[Screen] = []

    def program(self, name: str, text: str = "#!/bin/sh\necho 2.1.0\n") -> None:
        """Put a program on PATH."""
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def open(self, *words: str) -> Screen:
        """Type `push WORDS` at a terminal."""
        self._screens.append(Screen(words, self.env, self.folder))
        return self._screens[-1]

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run `push WORDS` in a script."""
        return subprocess.run(
            (*PUSH, *words),
            input=stdin,
            env=self.env | env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def everything(self) -> str:
        """All that stands in the home but in the configuration, and all that was shown."""
        files = [path for path in self.home.rglob("*") if path.is_file() and path != self.config]
        return "".join(path.read_bytes().decode("latin-1") for path in files) + "".join(s.text for s in self._screens)

    def close(self) -> None:
        for screen in self._screens:
            screen.close()


@contextmanager
def desk(home: Path, folder: Path, telegram: FakeTelegram) -> Iterator[Desk]:
    """A desk whose terminals are closed at the end."""
    made = Desk(home, folder, telegram)
    try:
        yield made
    finally:
        made.close()
