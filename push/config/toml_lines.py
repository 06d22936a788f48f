"""Which line of a TOML text each key, table and list item stands on.

Owns positions only: the text must be one that `tomllib` has accepted, and its values are skipped, not read.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

#: Where something stands in the document: keys, and indices of lists.
KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")' r"|'''.*?'{3,5}(?!')" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
    re.DOTALL,
)


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of every key path of a valid TOML text; of a list of tables, that of its first header."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[KeyPath, int] = {}
        self._tables: dict[KeyPath, int] = {}  # lists of tables -> index of the last one

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        self._skip(_BLANK_LINES)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK_LINES)
        return self._lines

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError("the text is not valid TOML")
        self._at = match.end()
        return match[0]

    def _mark(self, path: KeyPath) -> None:
        self._lines.setdefault(path, bisect_right(self._newlines, self._at) + 1)

    def _key(self) -> list[str]:
        """A dotted key; afterwards we stand behind it and the blanks that follow."""
        names = []
        while True:
            self._skip(_BLANK)
            if self._text[self._at] in "\"'":
                raw = self._skip(_STRING)
                names.append(str(tomllib.loads(f"key = {raw}")["key"]))
            else:
                names.append(self._skip(_BARE))
            self._skip(_BLANK)
            if self._text[self._at] != ".":
                return names
            self._at += 1

    def _header(self) -> KeyPath:
        listed = self._text.startswith("[[", self._at)
        brackets = 2 if listed else 1
        self._at += brackets
        names = self._key()
        path: KeyPath = ()
        for name in names[:-1]:
            path = self._last_table((*path, name))
            self._mark(path)
        path = (*path, names[-1])
        self._mark(path)
        if listed:
            self._tables[path] = self._tables.get(path, -1) + 1
            path = self._last_table(path)
            self._mark(path)
        self._at += brackets
        return path

    def _last_table(self, path: KeyPath) -> KeyPath:
        return (*path, self._tables[path]) if path in self._tables else path

    def _pair(self, table: KeyPath) -> None:
        self._skip(_BLANK)
        start = self._at
        path = table
        names = self._key()
        end, self._at = self._at, start
        for name in names:
            path = (*path, name)
            self._mark(path)
        self._at = end + 1  # behind the equals sign
        self._skip(_BLANK)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        first = self._text[self._at]
        if first == "[":
            self._items(path)
        elif first == "{":
            self._inline_table(path)
        else:
            self._skip(_STRING if first in "\"'" else _SCALAR)

    def _items(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip(_BLANK_LINES)
            if self._text[self._at] == "]":
                break
            self._mark((*path, index))
            self._value((*path, index))
            index += 1
            self._skip(_BLANK_LINES)
            if self._text[self._at] == ",":
                self._at += 1
        self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while True:
            self._skip(_BLANK_LINES)
            if self._text[self._at] == "}":
                break
            self._pair(path)
            self._skip(_BLANK_LINES)
            if self._text[self._at] == ",":
                self._at += 1
        self._at += 1
