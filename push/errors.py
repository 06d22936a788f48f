"""The one tree of errors, with the exit code and the stable code of each.

    PushError
    ├── Failed               1   failed
    ├── UsageError           2   usage
    ├── ConfigError          3   configuration
    ├── DependencyError      4   dependency_unavailable
    ├── TemporaryError       5   temporary
    └── ConflictError        6   conflict

Owns what an error carries; does not own how it is printed (`push.cli.output`).
A message never holds message text or a secret.
"""

from __future__ import annotations

#: What each code means and what to do, below a heading of its own.
PAGE = "docs/reference/errors.md"

EXIT_OK = 0
EXIT_UNEXPECTED = 70
EXIT_INTERRUPTED = 130


class PushError(Exception):
    """An expected error: what happened, why, and the next command.

    `message` is the first line, `why` the second, `hint` the third; `code` is stable and machine-readable.
    """

    code = "unexpected"
    exit_code = EXIT_UNEXPECTED
    details: tuple[str, ...] = ()  # further findings of the same kind, one line each

    def __init__(self, message: str, *, why: str = "", hint: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.why = why
        self.hint = hint
        if code is not None:
            self.code = code

    @property
    def docs(self) -> str:
        """Where the documents explain it."""
        return f"{PAGE}#{self.code}"


class Failed(PushError):
    """The command ran and its answer is no."""

    code = "failed"
    exit_code = 1


class UsageError(PushError):
    """The command line was not understood."""

    code = "usage"
    exit_code = 2


class ConfigError(PushError):
    """The configuration, or a file that it names, is not valid."""

    code = "configuration"
    exit_code = 3


class DependencyError(PushError):
    """Something outside that is needed is not there: a program, a database newer than we know."""

    code = "dependency_unavailable"
    exit_code = 4


class TemporaryError(PushError):
    """It may work a little later: a lock, a full disk, a stalled service."""

    code = "temporary"
    exit_code = 5


class ConflictError(PushError):
    """Somebody else holds what is asked for, or the state does not allow it."""

    code = "conflict"
    exit_code = 6
