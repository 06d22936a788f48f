"""The player fails where a page lies, and plays what stands between the lines."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.comparing import matches, screen
from tests.docs.pages import Fence, steps
from tests.docs.player import Player
from tests.docs.sandbox import Sandbox, sandbox


@pytest.fixture
def machine() -> Iterator[Sandbox]:
    with sandbox(Path(tempfile.mkdtemp(prefix="p", dir="/tmp"))) as made:
        yield made


def play(machine: Sandbox, text: str) -> None:
    """Play a page."""
    player = Player(machine)
    for step in steps(text):
        player.play(step)


def console(*lines: str) -> str:
    return "\n".join(("```console", *lines, "```", ""))


def test_a_page_that_tells_the_truth(machine: Sandbox) -> None:
    play(machine, console("$ cd /tmp", "$ printf '%s\\n' one 2>&1 two", "one", "two", "$ pwd", "/tmp"))


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("$ echo one", "two"), "the page shows\ntwo"),
        (("$ echo one", "one", "two"), "it printed\none\n"),
        (("$ false",), "ends with 1, not 0"),
        (("$ (exit 3)", "$ echo one"), "ends with 3, not 0"),
        (("$ head -n 1", "you> one", "two"), "waited in vain for the prompt|ended before"),
    ],
)
def test_a_page_that_lies(
    machine: Sandbox, lines: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.docs.terminal.SECONDS", 1.0)
    with pytest.raises(AssertionError, match=complaint):
        play(machine, console(*lines))


def test_the_exit_code_may_be_told(machine: Sandbox) -> None:
    play(machine, "<!-- play: exit 3 -->\n" + console("$ true", "$ (exit 3)"))
    with pytest.raises(AssertionError, match="ends with 0, not 3"):
        play(machine, "<!-- play: exit 3 -->\n" + console("$ true"))


def test_a_program_is_answered_at_its_prompts(machine: Sandbox) -> None:
    machine.program("ask", '#!/bin/sh\nprintf "Name? "; read name; printf "Sure? "; read sure; echo "$name $sure"\n')
    page = "<!-- play\nasks Name\\?\nasks Sure\\?\n-->\n" + console("$ ask", "Name? Ann", "Sure? yes", "Ann yes")
    play(machine, page)


def test_a_command_goes_on_in_a_window_of_its_own(machine: Sandbox) -> None:
    play(
        machine,
        "<!-- play: stays -->\n"
        + console("$ echo ready; sleep 60", "ready")
        + console("$ pgrep -c -f '[s]leep 60' >/dev/null && echo there", "there")
        + "<!-- play: press ^C -->\n",
    )


def test_a_file_is_written_as_shown(machine: Sandbox) -> None:
    play(
        machine,
        '<!-- play: file ~/a/b.toml -->\n```toml\na = "/home/ann/x"\n```\n'
        + console("$ cat ~/a/b.toml", "…/home/ann/x…"),
    )


def test_the_phone_and_the_bot(machine: Sandbox) -> None:
    play(machine, "<!-- play: says hello -->\n")
    assert [update["message"]["text"] for update in machine.telegram.unconfirmed()] == ["hello"]
    with pytest.raises(AssertionError, match="never saw 'hello'"):
        play(machine, "<!-- play: sees hello -->\n")


def test_marks_are_known_and_belong_to_a_fence() -> None:
    with pytest.raises(AssertionError, match="'sings' is no mark"):
        list(steps("<!-- play: sings -->\n"))
    with pytest.raises(AssertionError, match="belong to no fence"):
        list(steps("<!-- play: exit 3 -->\n"))


def test_commands_of_several_lines() -> None:
    (fence,) = steps(console("$ cat <<END", "> one", "> END", "one"))
    assert isinstance(fence, Fence)
    assert [(command.text, command.shown) for command in fence.commands] == [("cat <<END\none\nEND", "one")]


@pytest.mark.parametrize(
    ("shown", "real", "is_right"),
    [
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("a\n…\nz", "a\nz", True),
        ("a …", "a b\nc", True),
        ("a", "a b", False),
        ("took 3 s", "took 12 s", True),
        ("2 turns", "3 turns", False),
        ("at 2026-11-30T12:00:00Z", "at 2027-01-01 09:30:00", True),
        ("ID  STATE", "ID     STATE", True),
        ("you> ^D", "you> ", True),
    ],
)
def test_what_counts(shown: str, real: str, *, is_right: bool) -> None:
    assert matches(shown, real) is is_right


def test_a_line_that_was_written_over() -> None:
    assert screen("\rwaiting … 3 s\r             \rdone\r\nnext\x1b[0m") == "done\nnext"
