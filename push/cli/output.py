"""What the command line says: text, tables, JSON and errors, safe for a terminal.

Owns the only writes to standard output and standard error; does not own what is said.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, TextIO

from push import clock, environ
from push.errors import PushError

JSON_VERSION = 1

#: Control characters that could steer a terminal: C0 but for newline and tab, DEL, C1.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: What a terminal shows behind our line when the person presses Ctrl-C.
_KEYS = "^C"
_UNPRINTABLE = re.compile("[\x7f-\x9f\ud800-\udfff]")


class OutputClosed(Exception):
    """Nobody reads our standard output any more. Ends the command quietly; what was to be printed was not."""


def clean(text: str) -> str:
    """`text` without control characters other than newline and tab."""
    return _CONTROLS.sub("", text)


def prepare() -> None:
    """Let a stream that cannot show a character show a stand-in instead of failing, and have all three streams."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _open_closed() -> None:
    """Nobody reads a closed output; and its number is not to be given to a file of ours."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.__stdin__ is None:
        sys.stdin = os.fdopen(0)
    if sys.__stderr__ is None:
        sys.stderr = os.fdopen(2, "w")
    if sys.__stdout__ is None:
        reader, writer = os.pipe()
        os.close(reader)  # an answer that is printed here was not taken
        sys.stdout = os.fdopen(writer, "w")


def emit(text: str) -> None:
    """Print a line (or several) on standard output, without control characters. Raises OutputClosed."""
    _write(clean(text))


def emit_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object, with the version of our JSON in front. Raises OutputClosed."""
    _write(_json({"version": JSON_VERSION, **value}, indent=2))


def emit_json_line(value: Mapping[str, Any]) -> None:
    """As `emit_json`, on one line: for what goes on printing. Raises OutputClosed."""
    _write(_json({"version": JSON_VERSION, **value}))


def table(rows: Iterable[Sequence[object]], headers: Sequence[str]) -> None:
    """Print rows in aligned columns under headers; None is shown as `-`. Raises OutputClosed."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(_width(line[column]) for line in [list(headers), *cells]) for column in range(len(headers))]
    lines = [_style(_aligned(headers, widths), "1", sys.stdout), *(_aligned(row, widths) for row in cells)]
    _write("\n".join(lines))


def error(exc: PushError, *, as_json: bool) -> None:
    """Print an error on standard error: what, why and where it is explained, next command; or one JSON object."""
    if as_json:
        body: dict[str, object] = {"code": exc.code, "message": exc.message, "hint": exc.hint, "why": exc.why}
        body["docs"] = exc.docs
        if exc.details:
            body["details"] = list(exc.details)
        _write_error(_json({"version": JSON_VERSION, "error": body}))
    else:
        lines = [f"{_style('error:', '1;31', sys.stderr)} {clean(exc.message)}"]
        lines += [f"why: {clean(exc.why)} ({exc.docs})".replace("  ", " "), f"next: {clean(exc.hint)}"]
        lines += [f"also: {clean(detail)}" for detail in exc.details]
        _write_error("\n".join(lines))


def note(text: str) -> None:
    """Print on standard error, for a person, without control characters. Where nobody reads it, nothing happens."""
    _write_error(clean(text))


def ask(prompt: str) -> None:
    """Print on standard error what a person is to answer, without a line's end."""
    _write_error(clean(prompt), end="")


class Picture:
    """Lines on the terminal of standard output that are drawn again in place, in one write, so that nothing flickers.

    What does not fit is cut off; after a change of its size the terminal is cleared. Entered, it notices such changes.
    """

    def __init__(self) -> None:
        self._size: os.terminal_size | None = None

    def __enter__(self) -> Self:
        self._changed, self._change = os.pipe()
        os.set_blocking(self._change, False)  # full of them, it needs no more
        signal.signal(signal.SIGWINCH, self._resized)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        os.close(self._changed)
        os.close(self._change)

    def _resized(self, _number: int, _frame: object) -> None:
        with suppress(BlockingIOError):
            os.write(self._change, b"!")

    def wait(self, seconds: float) -> None:
        """Until it is to be drawn again: after `seconds`, or at once when the terminal's size changes."""
        if select.select([self._changed], (), (), seconds)[0]:
            os.read(self._changed, 4096)

    def show(self, lines: Sequence[str]) -> None:
        """Put `lines` in the place of those before. Raises OutputClosed."""
        size = _terminal_size(sys.stdout)
        room = max(size.lines - 1, 1)  # the last line is the cursor's
        shown = list(lines) if len(lines) <= room else [*lines[: room - 1], f"… {len(lines) - room + 1} lines more"]
        cleared = "" if size == self._size else "\x1b[2J"
        self._size = size
        drawn = "".join(f"{_clipped(clean(line), size.columns)}\x1b[K\n" for line in shown)
        _write(f"{cleared}\x1b[H{drawn}\x1b[J", end="")


class Waiting:
    """A line on standard error: for what we wait, and how long already. Gone afterwards; none off a terminal."""

    def __init__(self) -> None:
        self._since = clock.monotonic()
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the line away, before something is printed."""
        self._show("")

    def tick(self, what: str) -> None:
        """Say that we still wait for `what`."""
        if sys.stderr.isatty():
            line = f"{clean(what)} … {clock.monotonic() - self._since:.0f} s"
            self._show(line[: max(_columns() - len(_KEYS) - 1, 1)])  # a line that wraps cannot be wiped

    def _show(self, line: str) -> None:
        if line != self._shown:
            _write_error("\r" + line.ljust(len(self._shown + _KEYS)) + "\r" + line, end="")
            self._shown = line


def close() -> None:
    """Hand everything to the reader of standard output. Raises OutputClosed."""
    _write("", end="")


def abandon() -> None:
    """Let Python end without a complaint about what nobody will read: its last flush goes nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _columns() -> int:
    return _terminal_size(sys.stderr).columns


def _terminal_size(stream: TextIO) -> os.terminal_size:
    """Of the terminal behind a stream; one that does not tell is taken for a usual one."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    return os.terminal_size((size.columns or 80, size.lines or 24))


def _json(value: object, indent: int | None = None) -> str:
    """JSON in which what would steer a terminal, or is no character, is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _write(text: str, *, end: str = "\n") -> None:
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise OutputClosed from None


def _write_error(text: str, *, end: str = "\n") -> None:
    with suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


def _style(text: str, code: str, stream: TextIO) -> str:
    if stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb":
        return f"\x1b[{code}m{text}\x1b[0m"
    return text


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else " ".join(clean(str(value)).split())


def _width(text: str) -> int:
    """Columns of a terminal that `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(bool(unicodedata.combining(char)) for char in text)


def _clipped(line: str, columns: int) -> str:
    """As much of a line as fits; a tab takes eight columns at most."""
    line = line.expandtabs()
    while _width(line) > columns:
        line = line[:-1] if len(line) <= columns else line[:columns]
    return line


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(padded).rstrip()
