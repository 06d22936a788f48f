"""What a check found, and how it is repaired. Does not own the checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from push.errors import PushError

FIX = "push doctor --fix"


class Status(StrEnum):
    """How a check ended. Only `failed` makes `push doctor` fail."""

    OK = "ok"
    FIXED = "fixed"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `code` is a stable word for what is wrong, "" where nothing is.

    `hint` is one command that can be executed as it stands; `repair` does what `--fix` may do, and says what it did.
    """

    check: str
    status: Status
    message: str
    hint: str = ""
    code: str = ""
    repair: Callable[[], str] | None = None


def fine(check: str, message: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check, Status.OK, message)


def warning(check: str, code: str, message: str, hint: str = "") -> Finding:
    """Push works, and somebody should know."""
    return Finding(check, Status.WARNING, message, hint, code)


def failed(check: str, code: str, message: str, hint: str = "") -> Finding:
    """Push, or a part of it, does not work."""
    return Finding(check, Status.FAILED, message, hint, code)


def repairable(finding: Finding, repair: Callable[[], str]) -> Finding:
    """The finding with what `--fix` does about it, and the command that does."""
    return replace(finding, hint=FIX, repair=repair)


def of_error(check: str, exc: PushError, hint: str = "") -> Finding:
    """The finding for an error of ours; `hint` is the command, since an error's own may be a sentence."""
    message = "\n".join(("; ".join(text for text in (exc.message, exc.why) if text), *exc.details))
    return failed(check, exc.code, message, hint)


def mended(finding: Finding) -> Finding:
    """The finding after its repair, where it has one."""
    if finding.repair is None:
        return finding
    try:
        return replace(finding, status=Status.FIXED, message=finding.repair(), hint="", repair=None)
    except PushError as exc:
        return replace(finding, message=f"{finding.message}; not repaired: {exc.message}", hint=exc.hint, repair=None)
    except OSError as exc:
        return replace(finding, message=f"{finding.message}; not repaired: {exc.strerror}", hint="", repair=None)
