"""Short outside programs (git, systemctl, launchctl): run one, bounded, without a shell, and say what came of it.

Does not own agents, which have a runner of their own (`push.agents.process`).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended. `code` is negative for a signal."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The last line that it printed, for a person."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1].strip() if lines else f"exit code {self.code}"


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such program on PATH, or it cannot be started."""

    name: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """It was killed after `seconds`."""

    seconds: float


def run(
    argv: Sequence[str], *, seconds: float = 20.0, cwd: Path | None = None, env: dict[str, str] | None = None
) -> Completed | Missing | TimedOut:
    """Run a program with nothing on its standard input. `env` replaces the environment."""
    program = shutil.which(argv[0])
    if program is None:
        return Missing(argv[0])
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            cwd=cwd,
            env=env,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return TimedOut(seconds)
    except OSError:
        return Missing(argv[0])
    return Completed(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
