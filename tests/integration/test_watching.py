"""`push status --watch` on a real terminal, and off one."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from push.ledger.database import Database
from push.paths import Home
from tests.crash.site import PUSH
from tests.ledger import lives

#: A session of its own, whose terminal is this one: so that Ctrl-C reaches it.
_LEADER = """import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])"""
CLEAR, TOP = "\x1b[2J", "\x1b[H"


class Window:
    """A terminal on which one command runs."""

    def __init__(self, *words: str, lines: int = 40, columns: int = 100) -> None:
        self._master, slave = pty.openpty()
        self._seen = ""
        self.resize(lines, columns)
        command = [PUSH[0], "-c", _LEADER, *PUSH, *words]
        self.popen = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)

    def resize(self, lines: int, columns: int) -> None:
        """As a person's drag of the corner: the kernel tells the process."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, condition: Callable[[str], object], seconds: float = 20) -> str:
        """Everything that was printed, once it meets the condition."""
        deadline = time.monotonic() + seconds
        while not condition(self._seen):
            assert time.monotonic() < deadline, self._seen
            if select.select([self._master], (), (), 0.1)[0]:
                self._seen += os.read(self._master, 65536).decode()
        return self._seen

    def press(self, key: bytes) -> None:
        os.write(self._master, key)

    def end(self) -> int:
        """The exit code, with everything read."""
        deadline = time.monotonic() + 20
        while self.popen.poll() is None:
            assert time.monotonic() < deadline
            self._read()
        return self.popen.returncode

    def _read(self) -> None:
        with suppress(OSError):
            if select.select([self._master], (), (), 0.05)[0]:
                self._seen += os.read(self._master, 65536).decode()

    def close(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        os.close(self._master)


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    database = Database.open(Home.at(home).push_db)
    lives.accept(database)
    yield database
    database.close()


@pytest.fixture
def window(db: Database, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A watch over a home with one message; its parameter is the seconds between two looks."""
    made = Window("status", "--watch", getattr(request, "param", "0.2"))
    yield made
    made.close()


def frames(seen: str) -> list[str]:
    """The pictures, each drawn from the top left corner."""
    return seen.split(TOP)[1:]


def test_it_is_drawn_again_in_place_and_follows_what_happens(window: Window, db: Database) -> None:
    window.until(lambda seen: len(frames(seen)) >= 2)
    lives.accept(db)
    seen = window.until(lambda seen: "2 queued" in seen)
    assert seen.count(CLEAR) == 1  # a terminal that is cleared each time flickers
    assert "1 queued" in frames(seen)[0]
    for frame in frames(seen)[:-1]:
        assert frame.endswith("\x1b[J")
        assert all(line.endswith("\x1b[K\r") for line in frame.split("\n")[:-1])
    window.press(b"\x03")
    assert window.end() == 130
    assert "Traceback" not in window.until(bool)


@pytest.mark.parametrize("window", ["3600"], indirect=True)
def test_a_change_of_the_size_is_followed_at_once(window: Window) -> None:
    window.until(lambda seen: seen.endswith("\x1b[J"))
    window.resize(6, 12)
    seen = window.until(lambda seen: len(frames(seen)) == 2 and seen.endswith("\x1b[J"))
    assert seen.count(CLEAR) == 2
    lines = [line.removesuffix("\x1b[K\r") for line in frames(seen)[1].split("\n")[:-1]]
    assert len(lines) == 5
    assert all(len(line) <= 12 for line in lines)
    assert lines[-1].startswith("… ")


def test_off_a_terminal_it_prints_a_whole_screen_each_time(db: Database) -> None:
    for words, count in (((), "Push in "), (("--json",), '{"version": 1')):
        popen = subprocess.Popen([*PUSH, "status", "--watch", "0.2", *words], stdout=subprocess.PIPE, text=True)
        assert popen.stdout is not None
        printed = ""
        while printed.count(count) < 3:
            line = popen.stdout.readline()
            assert "\x1b" not in line
            if words:
                assert json.loads(line)["turns"]["queued"] == 1
            printed += line
        popen.send_signal(signal.SIGINT)
        popen.communicate(timeout=20)
        assert popen.returncode == 130


def test_nobody_reads_it_any_more(db: Database) -> None:
    popen = subprocess.Popen([*PUSH, "status", "--watch", "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert popen.stdout is not None
    popen.stdout.readline()
    popen.stdout.close()
    assert popen.wait(20) == 0
    assert popen.stderr is not None
    assert popen.stderr.read() == b""
    popen.stderr.close()
