"""What reaches the terminal, and what does not."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from push.cli import output
from push.errors import ConflictError


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@given(st.text())
def test_no_control_character_gets_through(text: str) -> None:
    cleaned = output.clean(text)
    assert not [c for c in cleaned if (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F]
    assert cleaned == "".join(c for c in text if c in cleaned)


def test_emit_cleans(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit("a\x1b[31mb\x07\r\x9b2Jc\td\ne")
    assert capsys.readouterr().out == "a[31mb2Jc\td\ne\n"


def test_json_has_its_version_first(capsys: pytest.CaptureFixture[str]) -> None:
    items = ["ä\x1b\x9b2J\x7f\ud800"]
    output.emit_json({"items": items})
    out = capsys.readouterr().out
    assert json.loads(out)["items"] == items
    assert list(json.loads(out)) == ["version", "items"]
    assert json.loads(out)["version"] == 1
    assert "ä" in out
    assert out == output.clean(out)


def test_a_table_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    output.table([("a", 1, None), ("漢字", "two\nlines", ""), ("e\u0301", 30, "x")], ("NAME", "N", "LAST"))
    assert capsys.readouterr().out.splitlines() == [
        "NAME  N          LAST",
        "a     1          -",
        "漢字  two lines  -",
        "e\u0301     30         x",
    ]


def test_an_empty_table_is_its_headers(capsys: pytest.CaptureFixture[str]) -> None:
    output.table([], ("A", "B"))
    assert capsys.readouterr().out == "A  B\n"


class TwoFindings(ConflictError):
    details = ("second\x1b",)


def test_an_error_has_three_lines_and_its_details(capsys: pytest.CaptureFixture[str]) -> None:
    output.error(TwoFindings("what\x1b[0m", why="why", hint="push do"), as_json=False)
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "error: what[0m",
        "why: why (docs/reference/errors.md#conflict)",
        "next: push do",
        "also: second",
    ]
    assert captured.out == ""


def test_an_error_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.error(ConflictError("what", why="why", hint="push do"), as_json=True)
    assert json.loads(capsys.readouterr().err) == {
        "version": 1,
        "error": {
            "code": "conflict",
            "message": "what",
            "hint": "push do",
            "why": "why",
            "docs": "docs/reference/errors.md#conflict",
        },
    }


@pytest.mark.parametrize(
    ("variable", "value", "coloured"), [("NO_COLOR", "1", False), ("TERM", "dumb", False), ("TERM", "xterm", True)]
)
def test_colour_only_on_a_terminal_that_wants_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, *, coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv(variable, value)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    output.error(ConflictError("what", why="why", hint="push do"), as_json=False)
    assert ("\x1b[" in stream.getvalue()) is coloured


def test_no_colour_off_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NO_COLOR")
    output.error(ConflictError("what", why="why", hint="push do"), as_json=False)
    output.table([], ("A",))
    captured = capsys.readouterr()
    assert "\x1b" not in captured.err + captured.out


def test_waiting_is_shown_on_a_terminal_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with output.Waiting() as waiting:
        waiting.tick("work\x1bing")
        waiting.tick("on")
    shown = stream.getvalue()
    assert shown.startswith("\rworking … 0 s\rworking … 0 s\r" + "on … 0 s".ljust(len("working … 0 s^C")) + "\r")
    assert shown.endswith("on … 0 s\r" + " " * len("on … 0 s^C") + "\r")
    assert "\n" not in shown


def test_waiting_does_not_wrap_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "_columns", lambda: 10)
    with output.Waiting() as waiting:
        waiting.tick("something long")
    assert "\rsomethi\r" in stream.getvalue()


def test_waiting_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with output.Waiting() as waiting:
        waiting.tick("working")
    assert capsys.readouterr().err == ""


def test_every_print_to_nobody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer counts as delivered when it was printed: so the second print must fail like the first."""
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    monkeypatch.setattr(sys, "stdout", stream)
    for _ in range(2):
        with pytest.raises(output.OutputClosed):
            output.emit("an answer")
    monkeypatch.setattr(sys, "stderr", stream)
    output.note("nobody is told, and nothing happens")
    monkeypatch.undo()
    with suppress(BrokenPipeError):
        stream.close()
