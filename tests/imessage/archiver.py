"""Writes bodies of messages as Messages does: typedstreams, byte for byte those of Apple's NSArchiver.

Owns the writing; does not own the reading, of which it knows nothing (test_typedstream.py holds it to Apple's bytes).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEADER = b"\x04\x0bstreamtyped\x81\xe8\x03"
NEW, NIL, END = b"\x84", b"\x85", b"\x86"
STRING = ("NSString", "NSObject")
MUTABLE_STRING = ("NSMutableString", "NSString", "NSObject")

PART = "__kIMMessagePartAttributeName"
FILE = "__kIMFileTransferGUIDAttributeName"
MENTION = "__kIMMentionConfirmedMention"
LINK = "__kIMLinkAttributeName"


@dataclass(frozen=True)
class Url:
    address: str


@dataclass(frozen=True)
class Archived:
    """An object of any class: its class with those above it, and its contents, each a type with its value."""

    classes: tuple[str, ...]
    contents: tuple[tuple[str, object], ...]


Attribute = str | int | float | bytes | Url | Archived
#: A stretch of the text, and its attributes. The same attributes again are the same dictionary.
Piece = tuple[str, Mapping[str, Attribute]]


def body(*pieces: Piece | str, mutable: bool = False) -> bytes:
    """A message of these pieces; a bare text is one of part 0."""
    return Archiver().archive([(piece, {PART: 0}) if isinstance(piece, str) else piece for piece in pieces], mutable)


class Archiver:
    """One stream. `width` forces the size of a text's length: 2 for `81`, 4 for `82`."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width
        self._out = bytearray(HEADER)
        self._strings: list[bytes] = []
        self._row: list[object] = []

    def archive(self, pieces: Sequence[Piece], mutable: bool = False) -> bytes:  # noqa: FBT001, FBT002
        plain = ("NSMutableAttributedString",) if mutable else ()
        self._types("@")
        self._open((*plain, "NSAttributedString", "NSObject"))
        self._types("@")
        self._text("".join(text for text, _ in pieces), MUTABLE_STRING if mutable else STRING)
        seen: list[Mapping[str, Attribute]] = []
        for text, attributes in pieces:
            if not text:
                continue
            is_new = attributes not in seen
            if is_new:
                seen.append(attributes)
            self._types("iI")
            self._integer(seen.index(attributes) + 1)
            self._integer(len(text.encode("utf-16-le")) // 2)
            if is_new:
                self._types("@")
                self._dictionary(attributes)
        self._out += END
        return bytes(self._out)

    def archive_object(self, value: object) -> bytes:
        """A stream of one object."""
        self._types("@")
        self._value(value)
        return bytes(self._out)

    def _integer(self, value: int, width: int | None = None) -> None:
        if width is None and -110 <= value <= 127:
            self._out += struct.pack("<b", value)
        elif width == 2 or (width is None and -0x8000 <= value <= 0xFFFF):
            self._out += b"\x81" + (value & 0xFFFF).to_bytes(2, "little")
        elif width == 4 or -(1 << 31) <= value < 1 << 31:
            self._out += b"\x82" + struct.pack("<i", value)
        else:
            self._out += b"\x87" + struct.pack("<q", value)

    def _types(self, types: str) -> None:
        self._shared(types.encode())

    def _shared(self, text: bytes) -> None:
        if text in self._strings:
            self._integer(self._strings.index(text) - 110)
            return
        self._strings.append(text)
        self._out += NEW
        self._integer(len(text))
        self._out += text

    def _open(self, classes: tuple[str, ...]) -> None:
        self._out += NEW
        self._row.append(object())
        while classes:
            if classes in self._row:
                self._integer(self._row.index(classes) - 110)
                return
            self._row.append(classes)
            self._out += NEW
            self._shared(classes[0].encode())
            self._integer(1 if classes[0] in {"NSString", "NSMutableString"} else 0)
            classes = classes[1:]
        self._out += NIL

    def _text(self, text: str, classes: tuple[str, ...] = STRING) -> None:
        self._open(classes)
        self._types("+")
        raw = text.encode("utf-8", "surrogatepass")
        self._integer(len(raw), self._width)
        self._out += raw + END

    def _c_string(self, text: bytes) -> None:
        if text in self._row:
            self._integer(self._row.index(text) - 110)
            return
        self._row.append(text)
        self._out += NEW
        self._shared(text)

    def _dictionary(self, attributes: Mapping[str, Attribute]) -> None:
        self._open(("NSDictionary", "NSObject"))
        self._types("i")
        self._integer(len(attributes))
        for key, value in attributes.items():
            for each in (key, value):
                self._types("@")
                self._value(each)
        self._out += END

    def _value(self, value: object) -> None:
        match value:
            case str():
                self._text(value)
            case bool() | int():
                self._number("q" if abs(value) > 0x7FFFFFFF or value < 0 else "i", value)
            case float():
                self._number("d", value)
            case bytes():
                self._object(Archived(("NSData", "NSObject"), (("i", len(value)), (f"[{len(value)}c]", value))))
            case Url(address):
                self._object(Archived(("NSURL", "NSObject"), (("c", 0), ("@", address))))
            case Archived():
                self._object(value)
            case dict():
                self._dictionary(value)
            case None:
                self._out += NIL
            case _:
                raise TypeError(value)

    def _number(self, types: str, value: float) -> None:
        self._object(Archived(("NSNumber", "NSValue", "NSObject"), (("*", types.encode()), (types, value))))

    def _object(self, value: Archived) -> None:
        self._open(value.classes)
        for types, content in value.contents:
            self._types(types)
            match types, content:
                case "@", _:
                    self._value(content)
                case "+", bytes(raw):
                    self._integer(len(raw))
                    self._out += raw
                case "*", bytes(raw):
                    self._c_string(raw)
                case "c", int(number):
                    self._out += struct.pack("<b", number)
                case "d", float(real):
                    self._out += b"\x83" + struct.pack("<d", real)
                case _, int(number):
                    self._integer(number)
                case _, bytes(raw):
                    self._out += raw
                case _:
                    raise TypeError(types)
        self._out += END
