"""The filter of an agent's lines."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from push.agents.output import LineFilter, Output

PREFIX = b'{"type":"message_update"'


def _filtered(prefix: bytes, pieces: list[bytes]) -> bytes:
    lines = LineFilter(prefix)
    return b"".join(lines.feed(piece) for piece in pieces) + lines.end()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"", b""),
        (b"a\nb", b"a\nb"),
        (PREFIX + b"...}\nx\n", b"x\n"),
        (b"x\n" + PREFIX, b"x\n"),
        (b"x\n" + PREFIX[:-1], b"x\n" + PREFIX[:-1]),
        (PREFIX[:-1] + b"\n" + PREFIX + b"\n\n", PREFIX[:-1] + b"\n\n"),
        (b" " + PREFIX + b"\n", b" " + PREFIX + b"\n"),
        (b"\xff\xfe\n" + PREFIX + b"\r\n\r\n", b"\xff\xfe\n\r\n"),
    ],
)
def test_lines_with_the_prefix_are_dropped(text: bytes, kept: bytes) -> None:
    assert _filtered(PREFIX, [text]) == kept
    assert _filtered(PREFIX, [text[i : i + 1] for i in range(len(text))]) == kept


@given(st.lists(st.text(alphabet="ab\n", max_size=6).map(str.encode), max_size=8))
def test_pieces_make_no_difference(pieces: list[bytes]) -> None:
    text = b"".join(pieces)
    expected = b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"ab"))
    assert _filtered(b"ab", pieces) == expected


def test_a_line_is_passed_on_before_it_ends() -> None:
    lines = LineFilter(PREFIX)
    assert lines.feed(b"answ") == b"answ"
    assert lines.feed(b"er" * 10_000) == b"er" * 10_000
    assert lines.feed(b"\n" + PREFIX[:5]) == b"\n"
    assert lines.end() == PREFIX[:5]


def test_a_pipe_that_never_runs_dry_is_left() -> None:
    output = Output(1000, b"\0")
    output.pipe = os.open("/dev/zero", os.O_RDONLY)
    output.drain()
    os.close(output.pipe)
