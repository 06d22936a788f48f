from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from push.agents import reading
from push.agents.reading import detail, dig, encode, events, is_blank, is_uuid, lines, number, one_line, readable, tail


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes("a\u2028b\r\nc\x85d\n\nlast".encode())
    assert list(lines(file)) == ["a\u2028b\r\n".encode(), "c\x85d\n".encode(), b"\n", b"last"]


def test_too_long_lines_are_passed_over_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 1 << 20)
    file = tmp_path / "out"
    with file.open("wb") as out:
        out.write(b"first\n")
        for _ in range(32):
            out.write(b"x" * (1 << 20))
        out.write(b"\nlast\n")
    tracemalloc.start()
    try:
        assert list(lines(file)) == [b"first\n", b"last\n"]
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()


def test_a_line_of_exactly_the_limit_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 8)
    file = tmp_path / "out"
    file.write_bytes(b"1234567\n12345678\n123456789\nx\n")
    assert list(lines(file)) == [b"1234567\n", b"x\n"]


def test_events_are_objects_alone_or_in_an_array(tmp_path: Path) -> None:
    file = tmp_path / "out"
    deep = "[" * 100_000
    file.write_text(f'{{"a": 1}}\nnull\n"x"\n{{"a": \n[{{"b": 2}}, 3]\n{deep}\n{{"skip": 1}}\n{{"n": {"9" * 5000}}}\n')
    assert list(events(file, skip=(b'{"skip"',))) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    "text", ["", "\n", " \t\u00a0\u3000", "\u200b\u200d\u2060\ufeff", "\0\x1b", "\u2800\u3164\ufe0f", "\u202e\u00ad"]
)
def test_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", "é", "🎩", "\u200bx", "日", "-", "0"])
def test_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("", ""),
        ("No API key found.\n\nSee:\n  /somewhere/docs.md\n", "No API key found."),
        ("Reading …\nError: one\nERROR: two\nmore\n", "ERROR: two"),
        ("\x1b[31mred\x1b[0m\n", "[31mred [0m"),
        ("a\u2028b", "a b"),
    ],
)
def test_the_detail_is_one_printable_line(said: str, line: str) -> None:
    assert detail(said) == line


def test_the_detail_is_short() -> None:
    assert one_line("x" * 10_000) == "x" * 499 + "…"


def test_dig_finds_or_is_none() -> None:
    value = {"a": [{"b": 1}]}
    assert dig(value, "a", -1, "b") == 1
    for path in (("x",), ("a", 5), ("a", "b"), ("a", 0, "b", "c"), (0,)):
        assert dig(value, *path) is None


def test_numbers_are_counts() -> None:
    assert [number(value) for value in (3, 0, -1, True, 1.5, "3", None)] == [3, 0, None, None, None, None, None]


def test_text_that_has_no_encoding_is_replaced() -> None:
    assert encode("a\ud83d🎩") == "a\ufffd🎩".encode()
    assert readable("a\0\ud83d \n") == "a\ufffd"


def test_a_uuid_is_the_whole_of_it_in_small_letters() -> None:
    good = "710526de-3f6c-432c-8eb4-685856dba378"
    assert is_uuid(good)
    assert not any(map(is_uuid, (good.upper(), good + "\n", good[:-1], "{" + good + "}", "", "٧" + good[1:])))


def test_the_tail_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "err"
    file.write_bytes(b"x" * 100 + b"\xffend")
    assert tail(file, 4) == "\ufffdend"
    assert tail(tmp_path / "absent") == ""
