"""A home that something is wrong with, the real `push doctor` for it, and a shell that does what it says.

Owns running the printed command literally; does not own what is broken (the tests).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AGENT = "#!/bin/sh\ncat\n"
_PUSH = '#!/bin/sh\nexec "{python}" -m push "$@"\n'


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The exit code, and every finding."""

    code: int
    items: tuple[dict[str, str], ...]

    def of(self, code: str) -> list[dict[str, str]]:
        """The findings of a kind."""
        return [item for item in self.items if item["code"] == code]

    def one(self, code: str) -> dict[str, str]:
        """The only one of a kind."""
        found = self.of(code)
        assert len(found) == 1, self.items
        return found[0]


@dataclass(slots=True)
class Patient:
    """`home` with a configuration; `bin` is first on PATH, with `push` in it."""

    home: Path
    bin: Path
    env: dict[str, str] = field(default_factory=dict)
    prefix: str = ""  # what the shell does first, every time: `ulimit -n 100`

    def __post_init__(self) -> None:
        self.bin.mkdir()
        self.program("push", _PUSH.format(python=sys.executable))
        self.env |= os.environ | {"PATH": f"{self.bin}:/usr/bin:/bin"}
        (self.home / "assistant").mkdir(mode=0o700)
        (self.home / "assistant" / "SOUL.md").write_text("Be kind.")
        self.configure('agent = "command"', f'command = ["{self.program("agent", AGENT)}"]')

    def configure(self, *lines: str, channel: str = "local") -> None:
        """Write config.toml anew."""
        config = self.home / "config.toml"
        config.write_text("\n".join([f'channel = "{channel}"', 'assistant_root = "assistant"', *lines]) + "\n")
        config.chmod(0o600)

    def program(self, name: str, text: str) -> Path:
        """Put a program on PATH."""
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def examine(self, *arguments: str, after: str = "") -> Diagnosis:
        """`push doctor`, in a shell that has executed `after` before."""
        words = " ".join(["push doctor --json", *arguments])
        script = f"{self.prefix or ':'}\n{{ {after or ':'}\n}} >&2\n{words}\n"
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            env=self.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout, done.stderr
        body: dict[str, Any] = json.loads(done.stdout)
        assert body["failed"] == sum(item["status"] == "failed" for item in body["items"])
        assert done.returncode == bool(body["failed"])
        return Diagnosis(done.returncode, tuple(body["items"]))
