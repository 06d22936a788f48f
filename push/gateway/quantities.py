"""Times and numbers in sentences for a person. Does not own the sentences."""

from __future__ import annotations

_MINUTE, _HOUR, _DAY = 60, 3600, 86400  # seconds


def span(milliseconds: float) -> str:
    """A length of time: `12 s`, `3 min`, `1 h 5 min`, `2 d 3 h`. Cut, not rounded."""
    seconds = max(int(milliseconds // 1000), 0)
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    unit, size, below, part = ("h", _HOUR, "min", _MINUTE) if seconds < _DAY else ("d", _DAY, "h", _HOUR)
    rest = seconds % size // part
    return f"{seconds // size} {unit}" + (f" {rest} {below}" if rest else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
