"""Reads a message's body, which Messages keeps as a typedstream (the column attributedBody of chat.db).

Owns its grammar, as Apple's NSArchiver writes it; does not own which rows are messages, nor what becomes of a body.

A typedstream is a list of values, each after its type. A text of types or names is written once and then referred to
by its number; so are objects and classes, by numbers of a second row. A body is one object, an attributed string: its
text, and runs that give each stretch of the text a dictionary of attributes.

The whole stream is read, or nothing: a part of a message would be answered as if it were the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

#: Bytes of a body. The longest text seen in a live chat.db has 9,966; links and dates add about 1,000 each.
MAX_BYTES = 1 << 20
#: Values in a body, so that the costliest one takes tens of megabytes.
MAX_VALUES = 100_000
#: Objects within each other, and classes above each other. Real bodies have 4 of both.
MAX_DEPTH = 32

_HEADER = b"\x04\x0bstreamtyped\x81\xe8\x03"
_MARKS = 0x80  # from here to _LOWEST a byte says what follows; others are small integers themselves
_WIDTHS = {0x81: 2, 0x82: 4, 0x87: 8}  # bytes of the integer that follows
_FLOAT, _NEW, _NIL, _END = 0x83, 0x84, 0x85, 0x86
_LOWEST = 0x92  # -110, and as a reference the first of its row

_TYPE = re.compile(rb"\[(\d{1,7})c\]|[cCsSiIlLqQfd@+*]")
_TYPES = re.compile(rb"(?:\[\d{1,7}c\]|[cCsSiIlLqQfd@+*]){1,8}")

_ATTACHMENT = "__kIMFileTransferGUIDAttributeName"
_MENTION = "__kIMMentionConfirmedMention"
_LINK = "__kIMLinkAttributeName"


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a text that has the same attributes throughout. `start` and `length` are UTF-16 units.

    `attachment` is the guid of a file that stands here as U+FFFC, `mention` the handle of the person whose name this
    is, `link` the address this leads to.
    """

    start: int
    length: int
    attachment: str | None = None
    mention: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """The exact text, with U+FFFC for each file, and its runs, which cover it without a gap."""

    text: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Undecodable:
    """No body, or one that is damaged or of a kind not known. The reason has nothing of the content in it."""

    reason: str


def read(body: bytes) -> Body | Undecodable:
    """The body of a message. Any bytes may be given: it neither raises nor takes long."""
    if len(body) > MAX_BYTES:
        return Undecodable(f"{len(body)} bytes are more than {MAX_BYTES}")
    stream = _Stream(body)
    try:
        return stream.body()
    except _RefusedError as refused:
        return Undecodable(f"before byte {stream.at}: {refused}")


class _RefusedError(Exception):
    """The stream is not what it must be here."""


@dataclass(frozen=True, slots=True)
class _Object:
    """An object that has been read. Its value is None where it is not needed."""

    value: object


@dataclass(frozen=True, slots=True)
class _Url:
    address: str


_Known = TypeVar("_Known")
#: Types, and the values that stood after them.
_Group = tuple[bytes, tuple[object, ...]]


class _Stream:
    """One pass over the bytes. `at` is the position of the next one."""

    def __init__(self, data: bytes) -> None:
        self.at = len(_HEADER)
        self._data = data
        self._strings: list[bytes] = []
        self._row: list[object] = []  # classes (tuples of names), C strings (bytes), objects; None until it has ended
        self._values = 0
        self._depth = 0

    def body(self) -> Body:
        if not self._data.startswith(_HEADER):
            raise _RefusedError("no typedstream")
        match self._group():
            case (b"@", ([(b"@", (str(text),)), *runs],)) if self.at == len(self._data):
                return Body(text, tuple(_runs(iter(runs), len(text.encode("utf-16-le")) // 2)))
        raise _RefusedError("no attributed string, or more than one")

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise _RefusedError("the stream ends too early")
        self.at += count
        return self._data[self.at - count : self.at]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _wide(self, first: int) -> bytes:
        if first not in _WIDTHS:
            raise _RefusedError("no integer")
        return self._take(_WIDTHS[first])

    def _unsigned(self) -> int:
        first = self._byte()
        return first if first < _MARKS else int.from_bytes(self._wide(first), "little")

    def _signed(self, first: int) -> int:
        raw = bytes((first,)) if first < _MARKS or first >= _LOWEST else self._wide(first)
        return int.from_bytes(raw, "little", signed=True)

    def _number(self, first: int, known: int) -> int:
        """What a reference means: the place in a row that has `known` entries so far."""
        place = self._signed(first) + 0x100 - _LOWEST
        if not 0 <= place < known:
            raise _RefusedError("a reference to nothing")
        return place

    def _known(self, first: int, kind: type[_Known]) -> _Known:
        known = self._row[self._number(first, len(self._row))]
        if not isinstance(known, kind):
            raise _RefusedError("a reference to what has not ended, or is of another kind")
        return known

    def _string(self) -> bytes:
        first = self._byte()
        if first != _NEW:
            return self._strings[self._number(first, len(self._strings))]
        self._strings.append(self._take(self._unsigned()))
        return self._strings[-1]

    def _c_string(self) -> bytes | None:
        first = self._byte()
        if first != _NEW:
            return None if first == _NIL else self._known(first, bytes)
        self._row.append(text := self._string())
        return text

    def _class(self) -> tuple[bytes, ...]:
        """The names of a class and of those above it, the lowest first. Each new class has a place of its own."""
        start = len(self._row)
        names: list[bytes] = []
        while (first := self._byte()) == _NEW:
            self._row.append(None)
            names.append(self._string())
            self._signed(self._byte())  # its version: another layout would show in the types
        if first != _NIL:
            names += self._known(first, tuple)
        if not 0 < len(names) <= MAX_DEPTH:
            raise _RefusedError("an object without a class, or with too many")
        self._row[start:] = [tuple(names[above:]) for above in range(len(self._row) - start)]
        return tuple(names)

    def _object(self) -> object:
        first = self._byte()
        if first != _NEW:
            return None if first == _NIL else self._known(first, _Object).value
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _RefusedError("too many objects within each other")
        place = len(self._row)
        self._row.append(None)
        meaning = _CLASSES.get(self._class())
        groups = []
        while not self._data.startswith(bytes((_END,)), self.at):
            groups.append(self._group())
        self.at += 1
        self._depth -= 1
        read = self._row[place] = _Object(meaning(groups) if meaning else None)
        return read.value

    def _group(self) -> _Group:
        types = self._string()
        if not _TYPES.fullmatch(types):
            raise _RefusedError("a type that is not known")
        return types, tuple(self._value(found) for found in _TYPE.finditer(types))

    def _value(self, found: re.Match[bytes]) -> object:
        self._values += 1
        if self._values > MAX_VALUES:
            raise _RefusedError(f"more than {MAX_VALUES} values")
        match found[0]:
            case b"@":
                return self._object()
            case b"*":
                return self._c_string()
            case b"+":
                return self._take(self._unsigned())
            case b"c" | b"C":
                return self._byte()
            case b"f" | b"d" if self._data.startswith(bytes((_FLOAT,)), self.at):
                return self._take(5 if found[0] == b"f" else 9)  # no attribute that is needed is one
            case b"S" | b"I" | b"L" | b"Q":
                return self._unsigned()
        return self._take(int(found[1])) if found[1] else self._signed(self._byte())


def _text(groups: list[_Group]) -> object:
    match groups:
        case [(b"+", (bytes(raw),))]:
            try:
                return raw.decode()
            except UnicodeDecodeError:
                raise _RefusedError("a text that is not UTF-8") from None
    raise _RefusedError("a string that is written differently")


def _url(groups: list[_Group]) -> object:
    match groups:
        case [(b"c", (0,)), (b"@", (str(address),))]:
            return _Url(address)
    return None  # relative to another


def _dictionary(groups: list[_Group]) -> object:
    values = [value for types, (value, *_) in groups[1:] if types == b"@"]
    keys = [key for key in values[::2] if isinstance(key, str)]
    entries = dict(zip(keys, values[1::2], strict=False))  # where one is left out, the count is wrong
    if groups[:1] != [(b"i", (len(entries),))] or len(groups) != 1 + 2 * len(entries):
        raise _RefusedError("a dictionary that is written differently, or has a key twice")
    return entries


def _runs(groups: Iterator[object], units: int) -> Iterator[Run]:
    """The runs of a text of so many UTF-16 units. A dictionary stands after the first run that has its number."""
    seen: list[tuple[str | None, ...]] = []
    start = 0
    for group in groups:
        match group:
            case (b"iI", (int(number), int(length))) if 1 <= number <= len(seen) + 1 and length:
                if number > len(seen):
                    seen.append(_needed(next(groups, None)))
                yield Run(start, length, *seen[number - 1])
                start += length
            case _:
                raise _RefusedError("a run that is written differently")
    if start != units:
        raise _RefusedError("runs that do not cover the text")


def _needed(group: object) -> tuple[str | None, ...]:
    match group:
        case (b"@", (dict(attributes),)):
            return tuple(_attribute(attributes, key) for key in (_ATTACHMENT, _MENTION, _LINK))
    raise _RefusedError("a run without its attributes")


def _attribute(attributes: Mapping[str, object], key: str) -> str | None:
    if key not in attributes:
        return None
    match attributes[key]:
        case str(text) | _Url(text):
            return text
    raise _RefusedError("an attribute that is no text")


#: What an object's groups mean, by its class and those above. Others are only read past, which their types allow.
_CLASSES: Mapping[tuple[bytes, ...], Callable[[list[_Group]], object]] = {
    tuple(names.split()): meaning
    for names, meaning in (
        (b"NSString NSObject", _text),
        (b"NSMutableString NSString NSObject", _text),
        (b"NSDictionary NSObject", _dictionary),
        (b"NSMutableDictionary NSDictionary NSObject", _dictionary),
        (b"NSURL NSObject", _url),
        (b"NSAttributedString NSObject", list),  # as it is: only the outermost is worth the reading
        (b"NSMutableAttributedString NSAttributedString NSObject", list),
    )
}
