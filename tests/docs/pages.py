"""What a page shows its reader to do: commands with what they print, files to write, and what happens off the screen.

Owns reading the marks; does not own playing them (`tests.docs.player`).

A fence ```console holds commands (`$ ` in front) with what they print below. What a reader of the page does not see
stands in a comment, one word and its argument a line:

    <!-- play
    agents claude codex       doubles of these are on PATH from here on
    sh COMMAND                a command of the harness, in the shell
    says TEXT                 the owner writes to the bot; `TEXT` may also be `100000002: TEXT`
    sees TEXT                 the bot's chat with the owner holds this
    telegram                  a configuration that says nothing but where this Telegram is
    systemd                   systemd answers for the user from here on
    press ^C                  at the command that was left running last; it ends
    -->

and of the fence below it:

    file PATH                 the fence is written to that file
    stays                     its last command goes on running, in a terminal of its own
    exit N                    the exit code of its last command, where it is not 0
    asks REGEX                a prompt; what the fence shows behind it is typed
    hidden TEXT               what is typed at the next prompt that has nothing behind it, as it shows nothing
    link                      the link to the bot that is printed is opened on the phone
    skip REASON               it is not played
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]

OF_THE_FENCE = {"file", "stays", "exit", "asks", "hidden", "link", "skip"}
OFF_THE_SCREEN = {"agents", "sh", "says", "sees", "telegram", "systemd", "press"}
#: What is an example, and is checked by other tests or by nobody.
EXAMPLES = {"toml", "text"}

_PIECE = re.compile(
    r"^<!-- play:? *(?P<marks>.*?)-->$|^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command as a reader types it, and what the page shows below it."""

    text: str
    shown: str


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of the page. `line` is its number in the file; `marks` are (word, argument)."""

    line: int
    language: str
    body: str
    marks: tuple[tuple[str, str], ...] = ()

    def all(self, word: str) -> list[str]:
        """The arguments of a mark, as often as it stands there."""
        return [argument for name, argument in self.marks if name == word]

    def one(self, word: str) -> str | None:
        """The argument of a mark; None without it."""
        return next(iter(self.all(word)), None)

    @property
    def commands(self) -> list[Command]:
        """The commands of a console."""
        found: list[tuple[str, list[str]]] = []
        for line in self.body.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found and not found[-1][1] and line.startswith("> "):  # the command goes on
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
            elif found:
                found[-1][1].append(line)
            else:
                raise AssertionError(f"line {self.line}: a console begins with a command")
        return [Command(text, "\n".join(shown)) for text, shown in found]

    @property
    def is_played(self) -> bool:
        """Whether it is run, or written to a file."""
        return self.one("skip") is None and (self.language == "console" or self.one("file") is not None)


@dataclass(frozen=True, slots=True)
class Aside:
    """Something off the screen."""

    line: int
    word: str
    argument: str


def steps(text: str) -> Iterator[Fence | Aside]:
    """Everything of a page that is played, shown as an example or left out, in order."""
    waiting: list[tuple[str, str]] = []
    for piece in _PIECE.finditer(text):
        line = text.count("\n", 0, piece.start()) + 1
        if piece["marks"] is None:
            indent = len(piece["indent"])
            body = "".join(row[indent:] if row.strip() else row for row in piece["body"].splitlines(keepends=True))
            yield Fence(line, piece["language"], body, tuple(waiting))
            waiting = []
            continue
        for mark in piece["marks"].strip().splitlines():
            word, _, argument = mark.strip().partition(" ")
            if word in OF_THE_FENCE:
                waiting.append((word, argument.strip()))
            else:
                assert word in OFF_THE_SCREEN, f"line {line}: {word!r} is no mark"
                yield Aside(line, word, argument.strip())
    assert not waiting, f"{waiting} belong to no fence"


def fences(page: Path) -> list[Fence]:
    """The fences of a page."""
    return [step for step in steps(page.read_text()) if isinstance(step, Fence)]
