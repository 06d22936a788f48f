"""The assistant's folder: what it consists of, what stands there already, and making what is missing.

Owns its layout and first content, and never changes what is there. Does not own which folder it is (`push.setup`), nor
that it is a repository.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from push.errors import TemporaryError
from push.paths import make_private, open_private, way_in

FOLDERS: Final = ("context", "jobs")
FILES: Final = {
    "SOUL.md": """\
# You

You are a personal assistant. You are talked to in a chat: answer briefly and plainly, in the language of the message.
Say so when you do not know or could not do something. Ask before you do anything that cannot be undone.
""",
    "AGENTS.md": """\
# For agents that work in this folder

This is the folder of a personal assistant that answers through Push, a messaging gateway.

- SOUL.md says who the assistant is. Every run is given it; change it only when you are asked for exactly that.
- context/ holds what is to be remembered, in plain files. Begin with context/README.md, and keep its list current.
- jobs/ holds runbooks that run by the clock. Change them only when you are asked for exactly that.
- Nothing secret belongs here: the folder is under version control.
""",
    "README.md": """\
# A personal assistant

| | |
|---|---|
| SOUL.md | who the assistant is: given to the agent at every run |
| AGENTS.md | what an agent should know that works in this folder |
| context/ | what it should know about its owner, a file for each subject |
| jobs/ | runbooks that run by the clock |

Change what you like: it holds from the next message on. `push doctor` says whether the assistant can answer.
""",
    "context/README.md": """\
# Context

What the assistant should know about its owner and their work stands here, a file for each subject, listed below.
""",
}

_GIT: Final = ".git"


@dataclass(frozen=True, slots=True)
class Survey:
    """What stands at a path. `obstacle` says why no assistant may be made there; "" where one is complete, or may."""

    is_complete: bool = False
    obstacle: str = ""


def survey(root: Path, config: Path | None = None) -> Survey:
    """Look at `root`; `config`, and .git, may lie in an otherwise empty folder.

    A folder with nothing but what `scaffold_default` writes may be completed: that was interrupted.
    """
    try:
        if not stat.S_ISDIR(root.lstat().st_mode):
            return Survey(obstacle="it is not a folder")
        names = {path.name for path in root.iterdir()}
        missing = [name for name in (*FILES, *FOLDERS) if not os.path.lexists(root / name)]
        wrong = next((name for name in (*FILES, *FOLDERS) if name not in missing and not _is_real(root, name)), None)
        if wrong is not None:
            return Survey(obstacle=f"{wrong} is not a {'folder' if wrong in FOLDERS else 'file'} of its own")
        if not missing:
            return Survey(is_complete=True)
        foreign = sorted(_foreign(root, names - {_GIT} - {config.name if config and config.parent == root else ""}))
    except FileNotFoundError:
        return Survey()
    except OSError as exc:
        return Survey(obstacle=f"it cannot be read: {exc.strerror}")
    if not foreign:
        return Survey()
    if "SOUL.md" in names:
        return Survey(obstacle=f"it has a SOUL.md, and no {missing[0]}")
    return Survey(obstacle=f"it holds other things, as {foreign[0]}")


def _is_real(root: Path, name: str) -> bool:
    """Whether a part of the layout is a file, or a folder, and no link to one."""
    mode = (root / name).lstat().st_mode
    return stat.S_ISDIR(mode) if name in FOLDERS else stat.S_ISREG(mode)


def _foreign(root: Path, names: set[str]) -> Iterator[str]:
    """What of `names` we would not have written ourselves."""
    for name in names:
        if name in FOLDERS:
            inside = {f"{name}/{path.name}" for path in (root / name).iterdir()}
            yield from (path for path in inside if not _is_ours(root, path))
        elif not _is_ours(root, name):
            yield name


def _is_ours(root: Path, name: str) -> bool:
    path = root / name
    return name in FILES and path.is_file() and path.read_bytes() == FILES[name].encode()


def scaffold_default(root: Path) -> list[str]:
    """Create what is missing of the layout below `root`; returns the files made. Raises TemporaryError."""
    for folder in (root, *(root / name for name in FOLDERS)):
        make_private(folder)
    return [name for name, text in FILES.items() if _write(root / name, text)]


def _write(path: Path, text: str) -> bool:
    """Write a file where there is none. A full disk leaves none, so that the next attempt may make it."""
    try:
        fd = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as exc:
        path.unlink(missing_ok=True)
        raise _unwritable(path, exc) from exc
    return True


def _unwritable(path: Path, exc: OSError) -> TemporaryError:
    return TemporaryError(
        f"cannot write {path}: {exc.strerror}",
        why="the assistant's instructions and context are kept there",
        hint=way_in(path, exc),
        code="home_not_writable",
    )
