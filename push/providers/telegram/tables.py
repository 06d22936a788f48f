"""A table in a fixed-width font. Owns its layout; does not own what stands in the cells."""

from __future__ import annotations

import unicodedata
from itertools import zip_longest

_WIDTH = 100  # in columns: a wider table is not padded, since every telephone would wrap its lines


def layout(rows: list[list[str]]) -> str:
    """Rows of cells as lines with aligned columns; the first is the head."""
    widths = [max(map(_width, column)) for column in zip_longest(*rows, fillvalue="")]
    padded = sum(widths) + 3 * len(widths) <= _WIDTH
    lines = [_line(row, widths if padded else []) for row in rows]
    rule = "-+-".join("-" * width for width in widths) if padded else "---"
    return "\n".join([lines[0], rule, *lines[1:]])


def _line(cells: list[str], widths: list[int]) -> str:
    filled = zip_longest(cells, widths[: len(cells)], fillvalue=0)
    return " | ".join(f"{cell}{' ' * (int(width) - _width(str(cell)))}" for cell, width in filled).rstrip()


def _width(cell: str) -> int:
    """How many columns a text takes: two for a wide character, none for a combining mark."""
    if cell.isascii():
        return len(cell)
    return sum(0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in cell)
