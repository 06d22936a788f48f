"""The newcomer's machine: a clean copy of the project, an own home, perhaps an own user, doubles of agents, a phone.

Owns what is outside of Push; does not own the story (`tests.newcomer.journey`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.docs.terminal import Terminal
from tests.telegram.remote import FakeTelegram, separate

ROOT = Path(__file__).resolve().parents[2]
OWNER = 100000001
_AGENTS = ROOT / "tests" / "agents"
_HOME_MB = 300
_STRANGER = 61234
_SYSTEM = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class User:
    """Who the newcomer is; None: whoever runs this."""

    uid: int | None

    def argv(self, *words: str) -> list[str]:
        """A command line that runs as this user."""
        if self.uid is None:
            return list(words)
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", *words]

    def give(self, *paths: Path) -> None:
        """Let the user own these."""
        for path in paths:
            if self.uid is not None:
                os.chown(path, self.uid, self.uid, follow_symlinks=False)


class Machine:
    """Made by `machine`. Without a `prefix`, `make` really installs; else that virtual environment stands in."""

    def __init__(self, root: Path, user: User, stack: ExitStack, prefix: Path | None) -> None:
        self._stack = stack
        self.user = user
        self.home = root / "nina"
        self.clone = self.home / "push"
        self._bin = root / "bin"
        self.telegram: FakeTelegram = stack.enter_context(separate())
        for folder in (self.home, self._bin):
            folder.mkdir()
        user.give(self.home, self._bin)
        subprocess.run(["git", "clone", "--quiet", "--no-local", str(ROOT), str(self.clone)], check=True)
        user.give(self.clone, *self.clone.rglob("*"))
        if (pip := Path.home() / ".config" / "pip").is_dir():  # how this machine reaches packages
            shutil.copytree(pip, self.home / ".config" / "pip")
        if prefix is not None:
            (self.clone / ".venv").symlink_to(prefix)
            self._program("make", "exec .venv/bin/python -m push chat")
        self._is_small = self._make_small(self.home / ".push")
        kept = {name: value for name, value in os.environ.items() if name in {"PUSH_TEST_MARK", "LANG", "LC_ALL"}}
        sessions = root / "sessions"
        sessions.mkdir()
        user.give(sessions)
        self.env = {
            **kept,
            **_of_packages(),
            "HOME": str(self.home),
            "USER": "nina",
            "NO_COLOR": "1",
            "FAKE_HOME": str(sessions),
            "PATH": f"{self._bin}:{_SYSTEM if user.uid is not None else _without_agents()}",
            "VIRTUAL_ENV_DISABLE_PROMPT": "1",
        }

    def _make_small(self, folder: Path) -> bool:
        """A file system of its own that can be filled; False where we may not make one."""
        folder.mkdir(mode=0o700)
        self.user.give(folder)
        owner = "" if self.user.uid is None else f",uid={self.user.uid},gid={self.user.uid}"
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={_HOME_MB}m,mode=0700{owner}", "tmpfs", str(folder)],
            check=False,
            capture_output=True,
        )
        if mounted.returncode == 0:
            self._stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=False)
        return mounted.returncode == 0

    # -- what a person has -----------------------------------------------------------------------------------------

    def terminal(self) -> Terminal:
        """A new window in the clean copy."""
        made = Terminal(self.env, self.clone, self.user.argv())
        self._stack.callback(made.close)
        return made

    def agents(self, *names: str) -> None:
        """Install doubles of these."""
        for name in names:
            self._program(name, f"exec {_python(self.user)} '{_AGENTS / f'fake_{name}.py'}' \"$@\"")

    def _program(self, name: str, line: str) -> None:
        program = self._bin / name
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)

    def remove(self, agent: str) -> None:
        """Take an agent away."""
        (self._bin / agent).unlink()

    def configure(self) -> None:
        """Where this Telegram is: the one thing that no newcomer has to write."""
        config = self.home / ".push" / "config.toml"
        config.write_text(f'channel = "local"\n\n[telegram]\nbase_url = "{self.telegram.url}"\n')
        config.chmod(0o600)
        self.user.give(config)

    def replace_in_config(self, old: str, new: str) -> None:
        """Somebody edits the file."""
        config = self.home / ".push" / "config.toml"
        text = config.read_text()
        assert old in text
        config.write_text(text.replace(old, new))

    # -- the phone -------------------------------------------------------------------------------------------------

    def answers(self, number: int, seconds: float = 30) -> None:
        """Wait for the one answer to a message."""
        self.sees(lambda text: re.search(rf"message {number}\b", text) is not None, f"an answer to {number}", seconds)

    def sees(self, look: Callable[[str], bool], what: str, seconds: float = 30) -> None:
        """Wait until the bot's chat with the owner holds such a text."""
        try:
            self.telegram.wait_for(lambda: any(look(sent.text) for sent in self.telegram.sent(OWNER)), seconds)
        except AssertionError:
            texts = [sent.text for sent in self.telegram.sent(OWNER)]
            raise AssertionError(f"the phone never saw {what}, but {texts}") from None

    # -- what goes wrong -------------------------------------------------------------------------------------------

    def fill_with_old_log(self, age_seconds: float) -> bool:
        """Fill the home's file system with a log of that age; False where it cannot be filled."""
        if not self._is_small:
            return False
        log = self.home / ".push" / "logs" / "run.log.1"
        with log.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"\0" * 65536):
                pass
        self.user.give(log)
        then = time.time() - age_seconds
        os.utime(log, (then, then))
        return True

    def _role(self) -> Path:
        return self.home / ".push" / "run" / "poll.role"

    def pid_of_poller(self) -> int:
        """Who reads the channels: a process that this journey has started."""
        return int(json.loads(self._role().read_text())["pid"])

    def stranger(self) -> subprocess.Popen[bytes]:
        """A process that has nothing to do with Push."""
        process = subprocess.Popen(self.user.argv("sleep", "600"))
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def give_pid_to(self, pid: int) -> None:
        """What a killed gateway left names a process that lives."""
        role = json.loads(self._role().read_text())
        self._role().write_text(json.dumps({**role, "pid": pid}))


def _of_packages() -> dict[str, str]:
    """Where pip finds packages on this machine, if its environment says so."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_CERT_FILE")}


def _without_agents() -> str:
    """The PATH of whoever runs this, without agents and without the virtual environment."""
    folders = [Path(folder) for folder in os.get_exec_path() if folder != str(Path(sys.prefix) / "bin")]
    agents = ("claude", "codex", "pi")
    return ":".join(str(folder) for folder in folders if not any((folder / name).exists() for name in agents))


def stranger_uid() -> int | None:
    """A user who owns nothing here; None where we may not become one, or he has no Python that is new enough."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return None
    try_it = "import sys; sys.exit(sys.version_info < (3, 11))"
    path = {"PATH": _SYSTEM}
    for command in (["python3", "-c", try_it], ["test", "-r", str(_AGENTS / "scripted.py")]):
        done = subprocess.run(User(_STRANGER).argv(*command), env=path, check=False, capture_output=True)
        if done.returncode:
            return None
    return _STRANGER


def _python(user: User) -> str:
    return sys.executable if user.uid is None else "/usr/bin/env python3"


@contextmanager
def machine(uid: int | None = None, prefix: Path | None = None) -> Iterator[Machine]:
    """A machine that is gone afterwards. A short path: sockets lie in it."""
    root = Path(tempfile.mkdtemp(prefix="n", dir="/tmp"))
    root.chmod(0o755)
    try:
        with ExitStack() as stack:
            yield Machine(root, User(uid), stack, prefix)
    finally:
        shutil.rmtree(root, ignore_errors=True)
