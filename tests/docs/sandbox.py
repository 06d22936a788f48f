"""The machine of a page's reader: an own home, a clone, programs that are doubles, and a phone.

Owns what is there before the first command; does not own playing a page (`tests.docs.player`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from push.config.settings import EMBEDDED_AGENTS
from tests.docs.pages import ROOT
from tests.docs.terminal import Terminal
from tests.telegram.remote import FakeTelegram, separate

#: What the pages call the reader's folder, number and bot's token.
HOME = "/home/ann"
OWNER = 100000001
TOKEN = "123456789:AAAA-your-own-token-from-BotFather-AAA"

_AGENTS = ROOT / "tests" / "agents"
_SYSTEMCTL = Path(__file__).with_name("systemctl")
_VENV = Path(sys.prefix)

#: Says what the Makefile says, and starts what it starts, in the virtual environment that there is.
_MAKE = """#!/bin/sh
[ "$*" = run ] || { echo "the pages know no make $*" >&2; exit 64; }
if [ ! -e "$HOME/.set-up" ]; then
    touch "$HOME/.set-up"
    echo "Setting up .venv (once) ..." >&2
    echo "Installing what Push needs ..." >&2
    echo "Installed. To have push on your PATH, in each terminal: . .venv/bin/activate" >&2
fi
exec .venv/bin/python -m push chat
"""
_DOUBLE = """#!/bin/sh
[ "$*" = --version ] && exec echo 9.9.9
exec '{python}' '{program}' "$@"
"""


class Sandbox:
    """One reader's machine. `clone` is the folder in which the pages begin."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._stack = stack
        self.home = root / "ann"
        self.clone = self.home / "push"
        self.bin = root / "bin"
        self._telegram: FakeTelegram | None = None
        self.clone.mkdir(parents=True)
        self.bin.mkdir()
        for name in ("docs", "deploy", "push", "Makefile"):
            if (ROOT / name).exists():
                (self.clone / name).symlink_to(ROOT / name)
        (self.clone / ".venv").symlink_to(_VENV)
        self.program("make", _MAKE)
        self.program("systemctl", _DOUBLE.format(python=sys.executable, program=_SYSTEMCTL))
        self.program("loginctl", _DOUBLE.format(python=sys.executable, program=_SYSTEMCTL))
        (root / "sessions").mkdir()
        kept = {name: value for name, value in os.environ.items() if name in {"PUSH_TEST_MARK", "LANG", "LC_ALL"}}
        self.env = {
            **kept,
            "HOME": str(self.home),
            "USER": "ann",
            "LOGNAME": "ann",
            "NO_COLOR": "1",
            "FAKE_HOME": str(root / "sessions"),
            "SYSTEMD_STATE": str(root / "systemd"),
            "PATH": f"{self.bin}:{_programs_of_the_system(root)}",
            "VIRTUAL_ENV_DISABLE_PROMPT": "1",
        }

    @property
    def telegram(self) -> FakeTelegram:
        """The Telegram of this page, which begins when it is first needed."""
        if self._telegram is None:
            self._telegram = self._stack.enter_context(separate("--token", TOKEN))
            self._telegram.add_chat(OWNER, "private", name="Ann")
        return self._telegram

    def say(self, text: str, user: int = OWNER) -> None:
        """Write to the bot."""
        name = "Ann" if user == OWNER else f"Person {user}"
        fields: dict[str, Any] = {"from": {"id": user, "is_bot": False, "first_name": name}}
        self.telegram.say(user, text, **fields)

    def terminal(self) -> Terminal:
        """A new window in the clone. Closed at the end of the page."""
        made = Terminal(self.env, self.clone)
        self._stack.callback(made.close)
        return made

    def install(self) -> None:
        """Let `push` be on PATH in every new window."""
        self.env["PATH"] = f"{_VENV / 'bin'}:{self.env['PATH']}"

    def program(self, name: str, text: str) -> None:
        """Put a program on PATH."""
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def agents(self, names: list[str]) -> None:
        """Put doubles of these agents on PATH."""
        for name in names:
            self.program(name, _DOUBLE.format(python=sys.executable, program=_AGENTS / f"fake_{name}.py"))

    def systemd(self) -> None:
        """Let systemd answer; what it still runs at the end of the page is stopped."""
        Path(self.env["SYSTEMD_STATE"]).mkdir()
        self._stack.callback(self._stop_services)

    def _stop_services(self) -> None:
        for unit in Path(self.env["SYSTEMD_STATE"]).glob("*.service"):
            subprocess.run([_SYSTEMCTL, "stop", unit.name], env=self.env, check=True, timeout=30)

    def write(self, path: str, text: str) -> None:
        """Write a file as a page shows it; a configuration of Telegram is told where this Telegram is."""
        if "\n[telegram]\n" in text:
            text = text.replace("\n[telegram]\n", f'\n[telegram]\nbase_url = "{self.telegram.url}"\n')
        file = Path(path.replace("~", str(self.home), 1)) if path.startswith("~") else self.clone / path
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text(self.inside(text))
        file.chmod(0o600)

    def inside(self, text: str) -> str:
        """A page's text with the paths of this machine."""
        return text.replace(HOME, str(self.home))

    def outside(self, text: str) -> str:
        """What was printed with the paths of the pages."""
        return text.replace(str(self.home), HOME)


def _programs_of_the_system(root: Path) -> str:
    """A PATH with this machine's programs, but without agents: those of the pages are doubles."""
    folders = [Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin")]
    if not any((folder / name).exists() for folder in folders for name in EMBEDDED_AGENTS):
        return ":".join(map(str, folders))
    chosen = root / "system"
    chosen.mkdir()
    found = {path.name: path for folder in reversed(folders) if folder.is_dir() for path in folder.iterdir()}
    for name, path in found.items():
        if name not in EMBEDDED_AGENTS:
            (chosen / name).symlink_to(path)
    return str(chosen)


@contextmanager
def sandbox(root: Path) -> Iterator[Sandbox]:
    """A machine that is gone afterwards."""
    with ExitStack() as stack:
        made = Sandbox(root, stack)
        yield made
    shutil.rmtree(root, ignore_errors=True)
