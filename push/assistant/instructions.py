"""The instructions of a run: SOUL.md as its owner wrote it, and a footer that says where things are.

Owns the footer and what a SOUL.md may be; does not own how they reach a CLI (`push.agents`). They hold no times and no
paths of a single run: where a CLI reads its instructions only once, a change begins a new session.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Final

from push.errors import ConfigError

#: The largest that was tried with every CLI.
MAX_BYTES: Final = 200_000

_FOOTER: Final = """\
---
You answer through Push, a messaging gateway: your final message is sent to the person as it is.

- Your assistant folder: {root}
- Context: {root}/context (begin with {root}/context/README.md when it helps)
- Jobs: {root}/jobs

Do not change SOUL.md or anything below jobs/ unless the person asks for exactly that.
"""


def compose(assistant_root: Path) -> str:
    """The instructions for a conversation or job of the assistant at `assistant_root` (absolute).

    Raises ConfigError where SOUL.md is missing, unreadable, no UTF-8 text, or larger than `MAX_BYTES`.
    """
    soul = _soul(assistant_root / "SOUL.md").strip()
    footer = _FOOTER.format(root=assistant_root)
    return f"{soul}\n\n{footer}" if soul else footer


def _soul(path: Path) -> str:
    try:
        # Not blocking: a named pipe of that name would hold up every conversation.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unusable(path, "it is not a regular file")
            data = file.read(MAX_BYTES + 1)
    except OSError as exc:
        missing = isinstance(exc, FileNotFoundError)
        raise _unusable(path, "it is missing" if missing else f"{exc.strerror}") from exc
    if len(data) > MAX_BYTES:
        raise _unusable(path, f"it has more than {MAX_BYTES} bytes; move what is not needed in every run to context/")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise _unusable(path, f"it is not UTF-8 at byte {exc.start}") from exc
    if "\0" in text:
        raise _unusable(path, "it holds a NUL byte")
    return text


def _unusable(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"cannot use {path}: {why}",
        why="SOUL.md holds the instructions that every run begins with",
        hint=f"ls -l {shlex.quote(str(path))}" if os.path.lexists(path) else "push init",
        code="soul_unusable",
    )
