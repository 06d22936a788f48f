"""Terminals: each gets its own answers, none is lost when one dies, and an agent cannot open one."""

from __future__ import annotations

import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from tests.crash.site import PUSH, Process, Site
from tests.crash.verdict import check

ROOT = Path(__file__).resolve().parents[2]

_EARLIER = "An earlier answer"


def test_a_terminal_alone_answers_by_itself(place: Site) -> None:
    terminal = place.chat("ann", "one", "two")
    assert terminal.wait() == 0
    assert terminal.out == "re: one\nre: two\n"
    assert "No gateway is running" in terminal.err
    check(place)


def test_a_pipe_can_be_interrupted(place: Site) -> None:
    """Python aborts where a thread is still reading from sys.stdin."""
    reader, writer = os.pipe()
    terminal = place.start("chat", "--user", "ann", stdin=reader)
    os.close(reader)
    os.write(writer, b"one\n")
    place.until(lambda: terminal.out == "re: one\n", "an answer")
    terminal.signal(signal.SIGINT)
    assert terminal.wait() == 130, terminal.err
    os.close(writer)
    check(place)


def test_a_pipe_says_that_a_message_is_postponed(place: Site) -> None:
    terminal = place.start("chat", "--user", "ann", stdin=b"one\n", seams="turn.spooled=raise:ENOSPC")
    place.until(lambda: "A message is postponed" in terminal.err, "a word about it")
    terminal.kill()


def test_one_message_as_an_argument(place: Site) -> None:
    terminal = place.run("chat", "--user", "ann", "one")
    assert (terminal.wait(), terminal.out) == (0, "re: one\n")
    check(place)


def test_a_terminal_takes_over_from_a_gateway_that_was_killed(gated: Site) -> None:
    gateway = gated.serve()
    terminal = gated.chat("ann", "one", "two")
    gated.until(gated.entries, "an agent at work")
    gateway.kill()
    gated.gate.touch()
    assert terminal.wait() == 0, terminal.err
    assert terminal.out == "re: one\nre: two\n"
    assert gated.entries() == ["one", "two"]
    check(gated)


def test_two_terminals_of_one_user_get_their_own_answers(gated: Site) -> None:
    gated.serve()
    first, second = gated.chat("ann", "one", "two"), gated.chat("ann", "three", "four")
    gated.until(lambda: len(gated.states()) == 4, "four messages")
    gated.gate.touch()
    assert (first.wait(), second.wait()) == (0, 0)
    assert first.out == "re: one\nre: two\n"
    assert second.out == "re: three\nre: four\n"
    assert _EARLIER not in first.err + second.err
    check(gated)


def test_the_answers_of_a_dead_terminal_are_printed_by_the_next(gated: Site) -> None:
    gated.serve()
    dead = gated.chat("ann", "one", "two")
    gated.until(gated.entries, "an agent at work")
    other = gated.chat("bob", "three")
    dead.kill()
    gated.gate.touch()
    gated.until_settled(3)
    assert other.wait() == 0
    assert other.out == "re: three\n", "another user's terminal must not print it"
    terminal = gated.chat("ann", "four")
    assert terminal.wait() == 0
    assert terminal.out == "re: one\nre: two\nre: four\n"
    assert terminal.err.count(_EARLIER) == 2
    check(gated)


def test_nobody_reads_the_answer_waits_for_the_next_terminal(place: Site) -> None:
    place.serve()
    terminal = place.closed_chat("ann", "one")
    assert terminal.wait() in {0, 1}
    assert "Traceback" not in terminal.err
    assert place.states() == ["answered"]
    assert place.listen("ann").out == "re: one\n"
    check(place)


def test_a_full_disk_under_the_output_is_no_success(place: Site) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    terminal = place.start("chat", "--user", "ann", "one", stdout=full)
    os.close(full)
    assert terminal.wait() == 5
    assert "No space left on device" in terminal.err
    assert place.listen("ann").out == "re: one\n"
    check(place)


def test_a_closed_output_is_one_that_nobody_reads(place: Site) -> None:
    """Not one that took the answer; nor is what belongs on standard error printed for an answer."""
    words = " ".join(PUSH)
    assert place.spawn(("sh", "-c", f"{words} chat --user ann one >&-")).wait() == 0
    assert place.turns()[0].outbound == "waiting"
    terminal = place.spawn(("sh", "-c", f"{words} chat --user ann two 2>&- <&-"))
    assert (terminal.wait(), terminal.out) == (0, "re: one\nre: two\n")
    check(place)


@pytest.mark.parametrize("word", ["--help", "--version", "config path"])
def test_what_nobody_reads_is_no_failure(place: Site, word: str) -> None:
    assert place.spawn(("sh", "-c", f"{' '.join(PUSH)} {word} >&-")).wait() == 0


@pytest.mark.parametrize("hiding", ["", "env -u PUSH_RUN "])
def test_an_agent_cannot_open_a_terminal_of_its_own_gateway(place: Site, hiding: str) -> None:
    """Not with its mark, and not without: a runner is among its ancestors."""
    command = f'cd {ROOT}; {hiding}{" ".join(PUSH)} chat --no-wait --user ann "as the owner"'
    place.agent.write_text(f'#!/bin/sh\ncat >/dev/null\n{command}\necho "code $?"\n')
    place.serve()
    terminal = place.chat("ann", "one")
    assert terminal.wait(60) == 0
    assert terminal.out == "code 6\n"
    assert len(place.turns()) == 1
    check(place)


class _Screen:
    """A terminal with a person in front of it."""

    def __init__(self, place: Site) -> None:
        self._place = place
        self._master, worker = pty.openpty()
        os.set_blocking(self._master, False)
        self.text = ""
        self.process: Process = place.spawn(
            (sys.executable, "-c", _SESSION, *PUSH, "chat", "--user", "ann"), stdin=worker, stdout=worker
        )
        os.close(worker)

    def until(self, wanted: str) -> None:
        self._place.until(lambda: wanted in self._read(), f"{wanted!r} on the screen")

    def _read(self) -> str:
        try:
            self.text += os.read(self._master, 65536).decode("utf-8", "replace")
        except (BlockingIOError, OSError):
            return self.text
        return self.text

    def type(self, keys: str) -> None:
        self.type_bytes(keys.encode())

    def type_bytes(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def close(self) -> None:
        os.close(self._master)


#: Makes the terminal on standard input the controlling one, so that Ctrl-C is a signal.
_SESSION = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.dup2(1, 2)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def screen(gated: Site) -> object:
    """Opened by the tests below; closed for them."""
    gated.serve()
    opened = _Screen(gated)
    yield opened
    opened.close()


def test_a_conversation_by_hand(gated: Site, screen: _Screen) -> None:
    gated.gate.touch()
    screen.until("you> ")
    screen.type("one\n")
    screen.until("re: one")
    screen.type("\x04")
    assert screen.process.wait() == 0
    check(gated)


def test_ctrl_c_stops_the_agent_and_not_the_terminal(gated: Site, screen: _Screen) -> None:
    screen.until("you> ")
    screen.type("one\n")
    gated.until(gated.entries, "an agent at work")
    screen.type("\x03")
    screen.until("Stopped.")
    gated.until_states("cancelled")
    gated.gate.touch()
    screen.type("two\n")
    screen.until("re: two")
    screen.type("\x04")
    assert screen.process.wait() == 0
    check(gated)


def test_the_window_is_closed_the_answer_waits(gated: Site) -> None:
    gated.serve()
    window = _Screen(gated)
    window.until("you> ")
    window.type("one\n")
    gated.until(gated.entries, "an agent at work")
    window.close()  # the kernel sends SIGHUP
    assert window.process.wait() == -signal.SIGHUP
    gated.gate.touch()
    gated.until_states("answered")
    assert gated.listen("ann").out == "re: one\n"
    check(gated)


def test_what_comes_while_nobody_types_is_printed_at_the_prompt(gated: Site, screen: _Screen) -> None:
    """The next terminal is often opened before the answer of the dead one is there."""
    screen.until("you> ")
    dead = gated.chat("ann", "one")
    gated.until(gated.entries, "an agent at work")
    dead.kill()
    gated.gate.touch()
    screen.until(f"{_EARLIER}:\r\nre: one\r\nyou> ")
    screen.type("two\n")
    screen.until("re: two")
    screen.type("\x04")
    assert screen.process.wait() == 0
    check(gated)


def test_bytes_that_are_no_text_do_not_end_a_conversation(gated: Site, screen: _Screen) -> None:
    gated.gate.touch()
    screen.until("you> ")
    screen.type_bytes(b"caf\xe9\n")
    screen.until("re: caf\N{REPLACEMENT CHARACTER}")
    screen.type("\x04")
    assert screen.process.wait() == 0
    check(gated)
