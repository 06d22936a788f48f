"""Whether what a command printed is what a page shows, where `…` stands for anything and no figure of time counts.

Owns what a terminal would show of the bytes, and what is not compared; does not own where they come from.
"""

from __future__ import annotations

import re

_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x07")
_JOB = re.compile(r"^\[\d+\][ +-].*(?:\n|\Z)", re.MULTILINE)  # what a shell says of its background jobs
_KEYS = re.compile(r"\^[CD]")
_VARIES = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?"), "<instant>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"\b\d{8}T\d{6}Z?\b|\b\d{8}-\d{6}\b"), "<instant>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|min|h|d|days?|hours?|minutes?|seconds?)\b"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:B|kB|KB|MB|GB|KiB|MiB|GiB|bytes)\b"), "<size>"),
    (re.compile(r"\b(process|pid|PID) \d+"), r"\1 <number>"),
    (re.compile(r"\b(SQLite|Python|git|push) \d+(?:\.\d+)+"), r"\1 <version>"),
)


def screen(text: str) -> str:
    """What a terminal shows of this: carriage returns overwrite, colours do not count."""
    return "\n".join(_overwritten(line) for line in _STEERING.sub("", text).replace("\r\n", "\n").split("\n"))


def _overwritten(line: str) -> str:
    cells = ""
    for piece in line.split("\r"):
        cells = piece + cells[len(piece) :]
    return cells.rstrip()


def normal(text: str) -> str:
    """`text` without what differs between two runs of the same command."""
    text = _KEYS.sub("", _JOB.sub("", text))
    for pattern, stand_in in _VARIES:
        text = pattern.sub(stand_in, text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(lines).strip()


def matches(shown: str, real: str) -> bool:
    """Whether a page shows what was printed. A line of nothing but `…` stands for any number of lines, or none."""
    pieces = re.sub(r"\n…(?=\n|$)|^…\n", "…", normal(shown)).split("…")
    return re.fullmatch(r"[\s\S]*?".join(map(re.escape, pieces)), normal(real)) is not None


def difference(shown: str, real: str) -> str:
    """Both texts, for a person."""
    return f"--- the page shows\n{normal(shown)}\n--- it printed\n{normal(real)}\n---"
