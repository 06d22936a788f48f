"""The process environment: the only module that reads or writes `os.environ`."""

from __future__ import annotations

import os
from collections.abc import Mapping


def get(name: str) -> str | None:
    """The variable's value; None where it is unset or empty."""
    return os.environ.get(name) or None


def snapshot() -> dict[str, str]:
    """A copy of the whole environment."""
    return dict(os.environ)


def remove(names: Mapping[str, object] | set[str] | frozenset[str] | tuple[str, ...]) -> None:
    """Forget variables in this process."""
    for name in names:
        os.environ.pop(name, None)
