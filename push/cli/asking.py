"""Asking the person at the terminal: a line, a choice, yes or no, or something that the screen must not show.

Owns the terminal's echo; does not own the questions. Ctrl-D counts as Ctrl-C: whoever leaves answers nothing.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from push.cli import output

_READ = 4096  # bytes: a terminal gives a line at a time, and none is longer
_PASTE_SECONDS = 0.2  # what was pasted comes at once, and is one answer
_TRIES = 3


def possible() -> bool:
    """Whether somebody sits there who can read a question and answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def line(question: str) -> str:
    """One line. Raises KeyboardInterrupt where the person leaves."""
    output.ask(question)
    data = os.read(sys.stdin.fileno(), _READ)
    if not data:
        output.note("")
        raise KeyboardInterrupt
    return data.decode(errors="replace").strip()


def hidden(question: str) -> str:
    """What is typed or pasted, in several lines where it has them, while the screen shows nothing of it."""
    fd = sys.stdin.fileno()
    with _echo_off(fd):
        output.ask(question)
        data = os.read(fd, _READ)
        if not data:
            output.note("")
            raise KeyboardInterrupt
        while select.select([fd], [], [], _PASTE_SECONDS)[0] and (more := os.read(fd, _READ)):
            data += more
        output.note("")
    return data.decode(errors="replace").strip()


def confirm(question: str, *, usual: bool) -> bool:
    """Yes or no; Enter alone is `usual`, and whatever is neither is asked again."""
    for _ in range(_TRIES):
        match line(f"{question} [{'Y/n' if usual else 'y/N'}] ").lower():
            case "":
                return usual
            case "y" | "yes":
                return True
            case "n" | "no":
                return False
        output.note("y or n, please.")
    return False


def choose(question: str, choices: Sequence[str]) -> str:
    """One of `choices`; Enter alone is the first, and whatever is none is asked again."""
    for _ in range(_TRIES):
        answer = line(f"{question} {', '.join(choices)} [{choices[0]}] ") or choices[0]
        if answer in choices:
            return answer
        output.note(f"One of {', '.join(choices)}, please.")
    return choices[0]


@contextmanager
def _echo_off(fd: int) -> Iterator[None]:
    before = termios.tcgetattr(fd)
    silent = termios.tcgetattr(fd)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
