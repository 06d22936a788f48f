"""What a check found, and how it is repaired. Does not own the checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from push.errors import PushError


class Status(StrEnum):
    """How a check ended. Only `failed` makes `push doctor` fail."""

    OK = "ok"
    FIXED = "fixed"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `hint` is the next command; `repair` does it and says what it did."""

    check: str
    status: Status
    message: str
    hint: str = ""
    repair: Callable[[], str] | None = None


def mended(finding: Finding) -> Finding:
    """The finding after its repair, where it has one."""
    if finding.repair is None:
        return finding
    try:
        return Finding(finding.check, Status.FIXED, finding.repair())
    except PushError as exc:
        return replace(finding, message=f"{finding.message}; not repaired: {exc.message}", hint=exc.hint)
    except OSError as exc:
        return replace(finding, message=f"{finding.message}; not repaired: {exc.strerror}", hint="")
