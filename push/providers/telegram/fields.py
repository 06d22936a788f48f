"""Reads fields of JSON that anybody may have shaped: each is what was asked for, or absent.

Owns what counts as an id; does not own what the fields mean. Nothing here raises.
"""

from __future__ import annotations

from typing import Any

_ID_END = 1 << 52  # ids have up to 52 bits
_LATEST = 4_102_444_800  # 2100: a date beyond it is none


def table(value: object) -> dict[str, Any]:
    """A JSON object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """A JSON list; an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def words(value: object) -> str:
    """A text; "" in place of anything else."""
    return value if isinstance(value, str) else ""


def identifier(value: object) -> int | None:
    """An id of a person, chat, message or topic. A text, a float or a boolean is none, whatever it looks like."""
    return value if type(value) is int and 0 < abs(value) < _ID_END else None


def count(value: object) -> int | None:
    """A whole number from 0."""
    return value if type(value) is int and 0 <= value < _ID_END else None


def instant(value: object) -> int | None:
    """A date in seconds since 1970, before 2100."""
    return value if type(value) is int and 0 < value < _LATEST else None
