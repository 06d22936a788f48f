"""The assistant's folder of a set-up: which one it is, and that it is complete and a repository.

Owns that there is one assistant for a configuration, and that no folder of somebody else's is taken; does not own the
layout (`push.assistant.scaffold`).
"""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from push import environ, programs
from push.assistant import scaffold
from push.config import legacy, load, places, source
from push.config.edit import current
from push.config.findings import InvalidConfig
from push.errors import ConflictError, PushError, UsageError
from push.paths import default_home
from push.programs import Completed

NAME = "assistant"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The folder, and why this one. `is_configured`: the configuration names it, and is to stay as it is."""

    root: Path
    why: str
    is_configured: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was made of it. `unversioned` says why it is no repository; "" where it is one."""

    made: list[str]
    unversioned: str


def choose(config: Path, asked: Path | None) -> Chosen:
    """The folder of a set-up with this configuration: the one that is configured, `asked`, or a sensible one.

    Raises ConflictError where `asked` is another one than is configured.
    """
    configured = _configured(config)
    if asked is None:
        if configured is not None:
            return Chosen(configured, "as the configuration says", is_configured=True)
        if _has_soul(_embedded()):
            return Chosen(_embedded(), "Push made it at the first `push chat`")
        return Chosen(_real(Path.cwd() / NAME), "")
    root = _asked(asked)
    if configured is not None and configured != root:
        raise ConflictError(
            f"the assistant of {config} is {configured}, not {root}",
            why="one configuration has one assistant",
            hint=f"push init {shlex.quote(str(configured))}{at(config)}",
            code="assistant_configured",
        )
    return Chosen(root, "", is_configured=configured is not None)


def _asked(path: Path) -> Path:
    try:
        return _real(path.expanduser().absolute())
    except RuntimeError:
        why = "nobody of that name has a home folder here"
        raise UsageError(f"{path} cannot be found", why=why, hint="push init --help") from None


def at(config: Path) -> str:
    """The option that names the configuration, for a command line; "" where it is the usual one."""
    usual = default_home() / source.CONFIG_NAME
    return "" if config == usual else f" --config {shlex.quote(str(config))}"


def _configured(config: Path) -> Path | None:
    """The folder that the configuration names, or takes because it is older than the key."""
    document: dict[str, Any] = source.parse(config, current(config))
    if not document:
        return None
    base = config.resolve().parent
    legacy.translate(document, base)
    named = document.get("assistant_root")
    if named is not None:
        found = places.resolve(named, base) if isinstance(named, str) else "is no text"
        return load(config).assistant_root if isinstance(found, str) else found  # which complains about it
    home = default_home()
    return _real(home) if (home / "SOUL.md").is_file() else None


def written(root: Path, config: Path) -> str:
    """How the configuration names the folder."""
    return "." if _real(config).parent == root else str(root)


def check(chosen: Chosen, config: Path) -> None:
    """Raise ConflictError where the folder is not free, not an assistant, or another repository's."""
    root = chosen.root
    if _is_kept(chosen):
        return
    if obstacle := scaffold.survey(root, _real(config)).obstacle:
        raise _taken(root, config, obstacle)
    if os.path.lexists(root / ".git") and (trouble := _repository_trouble(root)):
        raise ConflictError(
            f"{root}/.git is not the repository of this folder",
            why=trouble,
            hint=f"push init {shlex.quote(str(_free(root)))}{at(config)}",
            code="repository_elsewhere",
        )


def refusal(chosen: Chosen, config: Path, error: InvalidConfig) -> PushError:
    """The error of a configuration that the folder made invalid: another folder helps, and not another file."""
    if not chosen.is_configured:
        for finding in error.findings:
            if finding.path == ("assistant_root",):
                return _taken(chosen.root, config, f"it {finding.problem}")
    return error


def _taken(root: Path, config: Path, why: str) -> ConflictError:
    return ConflictError(
        f"{root} cannot become an assistant: {why}",
        why="Push takes an empty folder or a complete assistant, and overwrites nothing",
        hint=f"push init {shlex.quote(str(_free(root)))}{at(config)}",
        code="folder_taken",
    )


def _is_kept(chosen: Chosen) -> bool:
    """Push answers with it already, however much of the layout it has."""
    return (chosen.is_configured or chosen.root == _embedded()) and _has_soul(chosen.root)


def _has_soul(root: Path) -> bool:
    return (root / "SOUL.md").is_file()


def _embedded() -> Path:
    """The folder that Push itself makes where there is no configuration: an older one has less in it."""
    return _real(default_home() / places.ASSISTANT)


def _free(root: Path) -> Path:
    """A folder that is not there yet."""
    candidates = [root / NAME, _embedded(), *(root / f"{NAME}-{n}" for n in range(2, 100))]
    return next(path for path in candidates if not os.path.lexists(path) and not path.parent.is_file())


def prepare(chosen: Chosen, config: Path) -> Prepared:
    """Make what is missing, after `check`. Raises TemporaryError where it cannot be written."""
    is_owners = chosen.root != _embedded() and scaffold.survey(chosen.root, _real(config)).obstacle
    made = [] if is_owners else scaffold.scaffold_default(chosen.root)
    if os.path.lexists(chosen.root / ".git") or (is_owners and _is_inside_repository(chosen.root)):
        return Prepared(made, "")
    why = "git does not answer"
    match _git("init", "--quiet", str(chosen.root)):
        case Completed(code=0):
            return Prepared(made, "")
        case Completed() as failed:
            why = failed.complaint
        case programs.Missing():
            why = "git is not installed"
    if _repository_trouble(chosen.root):  # half a repository would pass for one from now on
        shutil.rmtree(chosen.root / ".git", ignore_errors=True)
    return Prepared(made, why)


def _repository_trouble(root: Path) -> str:
    """Why `.git` there is not the repository of exactly this folder; "" where it is, or nobody can say."""
    if (root / ".git").is_symlink():
        return ".git is a symbolic link"
    found = _git("-C", str(root), "rev-parse", "--show-toplevel")
    if not isinstance(found, Completed):
        return ""
    if found.code:
        return found.complaint
    top = _real(Path(found.out.rstrip("\n")))
    return "" if top == root else f"git says that it belongs to {top}"


def _is_inside_repository(root: Path) -> bool:
    found = _git("-C", str(root), "rev-parse", "--is-inside-work-tree")
    return isinstance(found, Completed) and found.out.strip() == "true"


def _git(*words: str) -> Completed | programs.Missing | programs.TimedOut:
    """Git, told by nothing but its words which repository is meant."""
    env = {name: value for name, value in environ.snapshot().items() if not name.startswith("GIT_")}
    return programs.run(("git", *words), env=env)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
