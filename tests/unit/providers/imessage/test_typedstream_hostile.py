"""Bytes that nobody means well with: read() answers, soon, within bounded memory, and with a text only if all fits."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from push.providers.imessage.typedstream import MAX_BYTES, MAX_DEPTH, MAX_VALUES, Body, Undecodable, read
from tests.imessage.archiver import FILE, HEADER, LINK, MENTION, Archived, Archiver, Url, body

ROOT = Path(__file__).parents[4]
#: Every byte that means something, and a few that do not.
MARKS = (*range(0x80, 0x9A), 0x00, 0x01, 0x02, 0x7F, 0xFF, *b"@+*iIqc[]")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
attributes = st.dictionaries(
    st.sampled_from((FILE, MENTION, LINK)), texts | texts.map(Url), max_size=3
) | st.dictionaries(texts, st.integers(-(1 << 62), 1 << 62) | st.binary(max_size=200) | st.floats(), max_size=3)
pieces = st.lists(st.tuples(texts, attributes), max_size=6)
bodies = st.builds(lambda written, mutable: Archiver().archive(written, mutable), pieces, st.booleans())


def answered(blob: bytes) -> None:
    found = read(blob)
    if isinstance(found, Undecodable):
        assert found.reason
        return
    at = 0
    for run in found.runs:
        assert run.start == at
        assert run.length > 0
        at += run.length
    assert at == len(found.text.encode("utf-16-le")) // 2
    assert found.text.encode() in blob  # never a text that does not stand there


@given(st.binary(max_size=400))
@example(b"")
@example(HEADER)
def test_c27_any_bytes_are_answered(blob: bytes) -> None:
    answered(blob)
    answered(HEADER + blob)


@given(st.lists(st.sampled_from(MARKS), max_size=120).map(bytes))
def test_c27_any_marks_are_answered(blob: bytes) -> None:
    answered(HEADER + b"\x84\x01@" + blob)


@given(pieces, st.booleans())
def test_c27_whatever_is_written_is_read(written: list[tuple[str, dict[str, object]]], mutable: bool) -> None:  # noqa: FBT001
    found = read(Archiver().archive(written, mutable))  # type: ignore[arg-type]
    assert isinstance(found, Body)
    assert found.text == "".join(text for text, _ in written)
    expected = [
        tuple(value.address if isinstance(value, Url) else value for value in map(had.get, (FILE, MENTION, LINK)))
        for text, had in written
        if text
    ]
    assert [(run.attachment, run.mention, run.link) for run in found.runs] == expected


@given(st.data(), bodies)
def test_c27_a_changed_body_is_answered(data: st.DataObject, blob: bytes) -> None:
    changed = bytearray(blob)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed)))
        match data.draw(st.sampled_from(("set", "drop", "add", "double"))):
            case "set":
                changed[at : at + 1] = bytes((data.draw(st.sampled_from(MARKS) | st.integers(0, 255)),))
            case "drop":
                del changed[at : at + data.draw(st.integers(1, 20))]
            case "add":
                changed[at:at] = data.draw(st.binary(max_size=6))
            case _:
                changed[at:at] = changed[at : at + 40]
    answered(bytes(changed))


@given(st.data(), bodies)
def test_c27_a_cut_body_has_no_text(data: st.DataObject, blob: bytes) -> None:
    assert isinstance(read(blob[: data.draw(st.integers(0, len(blob) - 1))]), Undecodable)


def nested(depth: int) -> bytes:
    """Objects within each other, `depth` of them at most: the body and its dictionary are two."""
    value = Archived(("A", "NSObject"), ())
    for _ in range(depth - 3):
        value = Archived(("A", "NSObject"), (("@", value),))
    return body(("a", {"k": value}))


def test_depth_is_bounded() -> None:
    assert isinstance(read(nested(MAX_DEPTH)), Body)
    assert isinstance(read(nested(MAX_DEPTH + 1)), Undecodable)


def test_classes_above_each_other_are_bounded() -> None:
    def of(count: int) -> bytes:
        return body(("a", {"k": Archived(tuple(f"C{n}" for n in range(count)), ())}))

    assert isinstance(read(of(MAX_DEPTH)), Body)
    assert isinstance(read(of(MAX_DEPTH + 1)), Undecodable)


def test_size_is_bounded() -> None:
    rest = len(body("a" * 100_000)) - 100_000
    assert isinstance(read(body("a" * (MAX_BYTES - rest))), Body)
    assert read(body("a" * (MAX_BYTES - rest + 1))) == Undecodable(f"{MAX_BYTES + 1} bytes are more than {MAX_BYTES}")


def test_values_are_bounded() -> None:
    def of(count: int) -> bytes:
        return body(("a", {"k": Archived(("X", "NSObject"), (("i", 1),) * count)}))

    assert isinstance(read(of(MAX_VALUES - 10)), Body)  # 10 for the body, its text, its run, and the dictionary
    assert isinstance(read(of(MAX_VALUES - 9)), Undecodable)


START = HEADER + b"\x84\x01@\x84\x84\x84\x01X\x00\x85"  # an object, to be filled
TYPES_OF_NOTHING = b"\x84\x20" + b"[0c]" * 8
#: The start, and what comes after it again and again.
HOSTILE = {
    "nil": (START, b"\x92\x85"),
    "new types": (START, b"\x84\x01+\x00"),
    "values of no bytes": (START + TYPES_OF_NOTHING, b"\x94"),
    "classes": (START, b"\x92\x84\x84\x84\x01Y\x00\x93\x86"),
    "a tower of classes": (HEADER + b"\x84\x01@\x84", b"\x84\x84\x01X\x00"),
    "objects within objects": (START, b"\x92\x84\x93"),
    "types without end": (HEADER + b"\x84\x82\x00\x00\x01\x00", b"@"),
    "runs": (body("a")[:-1], b"\x97\x01\x01"),
    "attributed strings that share one long text": (body("a" * (MAX_BYTES // 2))[:-1], b"\x92\x84\x93\x92\x95\x86"),
}


def measured() -> None:
    """Read every hostile stream at its longest, and say by how many KiB each raised this process's peak."""
    unit = 1024 if sys.platform == "darwin" else 1
    for name, (start, again) in HOSTILE.items():
        blob = start + again * ((MAX_BYTES - len(start)) // len(again))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert isinstance(read(blob), Undecodable)
        print(f"{name}\t{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // unit}")


def test_memory_is_bounded() -> None:
    """In a process of its own, whose peak is nobody else's."""
    code = f"import runpy; runpy.run_path({__file__!r})['measured']()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    rises = {name: int(kib) for name, kib in (line.split("\t") for line in done.stdout.splitlines())}
    assert rises.keys() == HOSTILE.keys()
    assert all(kib < 64 * 1024 for kib in rises.values()), rises
