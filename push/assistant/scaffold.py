"""The assistant's folder of the embedded default: enough to begin with.

Owns its first content; does not touch what is already there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from push.errors import TemporaryError
from push.paths import make_private, open_private

_FILES: Final = {
    "SOUL.md": """\
# You

You are a personal assistant. You are talked to in a chat: answer briefly and plainly, in the language of the message.
Say so when you do not know or could not do something. Ask before you do anything that cannot be undone.
""",
    "context/README.md": """\
# Context

What the assistant should know about its owner and their work stands here, a file for each subject, listed below.
""",
}


def scaffold_default(root: Path) -> None:
    """Create SOUL.md, context/README.md and jobs/ below `root` where they are missing. Raises TemporaryError."""
    for folder in (root, root / "context", root / "jobs"):
        make_private(folder)
    for name, text in _FILES.items():
        try:
            with os.fdopen(
                open_private(root / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8"
            ) as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as exc:
            raise TemporaryError(
                f"cannot write {root / name}: {exc.strerror}",
                why="The assistant's instructions and context are kept there.",
                hint="make the folder writable, or set PUSH_HOME to another one",
                code="home_not_writable",
            ) from exc
