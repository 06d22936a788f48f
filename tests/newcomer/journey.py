"""A newcomer's first hour, at a real terminal, with the commands of the README and those that Push itself prints.

Owns the story: install, first message, then a wrong token, a missing agent, a full disk and a stale pid, each repaired
by typing the command that was printed, to the letter. Does not own the machine that it happens on (`machine`).
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable

from tests.docs.terminal import Terminal
from tests.newcomer.machine import OWNER, Machine

_NEXT = re.compile(r"^\s*(?:\S.*)?\bnext: (push .*?)\s*$", re.IGNORECASE | re.MULTILINE)
_LINK = re.compile(r"https://t\.me/\w+\?start=([\w-]+)")
_OLD = 60 * 86_400


class Journey:
    """Each step leaves the machine as the next one expects it."""

    def __init__(self, machine: Machine, say: Callable[[str], None] = print) -> None:
        self._machine = machine
        self._say = say
        self._shell = machine.terminal()
        self._gateway: Terminal | None = None
        self._count = 0

    def travel(self) -> None:
        """The whole of it."""
        for step in (
            self.install,
            self.set_up,
            self.first_message,
            self.wrong_token,
            self.missing_agent,
            self.full_disk,
            self.stale_pid,
            self.leave,
        ):
            began = time.monotonic()
            step()
            self._say(f"{step.__name__}: done in {time.monotonic() - began:.1f} s")

    # -- the story -------------------------------------------------------------------------------------------------

    def install(self) -> None:
        """The two commands of the README."""
        assert "I am only the demonstration" in self._run("printf 'hello\\n' | make run", seconds=600)
        self._run(". .venv/bin/activate")
        assert re.search(r"^push \d", self._run("push --version"), re.MULTILINE)

    def set_up(self) -> None:
        """`push init`: a token with a typing error first, then the right one, then who one is."""
        self._machine.agents("claude", "codex")
        self._machine.configure()
        self._shell.enter("push init ~/assistant")
        self._answer(r"agent is to answer", "claude")
        self._answer(r"bot's token \(", f"{self._machine.telegram.token[:-1]}x")
        self._answer(r"(?s)does not know.*bot's token \(", self._machine.telegram.token)
        self._pair()
        seen = self._end(0)
        assert self._machine.telegram.token not in seen
        assert "0 failed" in seen, seen

    def first_message(self) -> None:
        """What it is all for."""
        self._start()
        self._is_answered()

    def wrong_token(self) -> None:
        """The token was revoked at BotFather, and the file still has it."""
        self._stop()
        right = self._machine.telegram.token
        self._machine.replace_in_config(right, f"{right[:-1]}y")
        command = _next(self._run("push run", code=3))
        self._shell.enter(command)
        self._answer(r"bot's token \(", right)
        self._end(0)
        self._start()
        self._is_answered()

    def missing_agent(self) -> None:
        """claude was removed; codex is there."""
        self._machine.remove("claude")
        number = self._write()
        self._machine.sees(lambda text: f"message {number}" not in text and "push" in text.lower(), "an explanation")
        command = _next(self._run("push doctor", code=1))
        assert "init --agent codex" in command, command
        after = self._run(command)
        self._run(_next(after))  # the gateway runs: push reload
        self._is_answered()

    def full_disk(self) -> None:
        """Old logs have filled the disk to the last byte."""
        if not self._machine.fill_with_old_log(_OLD):
            self._say("full_disk: left out, no file system of a fixed size can be made here")
            return
        number = self._write()
        seen = self._run("push doctor", code=1)
        assert "disk" in seen, seen
        self._run(_next(seen), code=None)
        self._machine.answers(number, seconds=90)
        self._run("push doctor", code=0)

    def stale_pid(self) -> None:
        """The gateway was killed; its pid belongs to somebody else by now."""
        assert self._gateway is not None
        pid = self._machine.pid_of_poller()
        os.kill(pid, 9)
        self._gateway.finish()
        self._gateway = None
        stranger = self._machine.stranger()
        self._machine.give_pid_to(stranger.pid)
        number = self._write()
        seen = self._run("push status")
        command = re.findall(r"(push run.*?)\s*$", seen, re.MULTILINE)[0]
        self._start(command)
        self._machine.answers(number)
        assert stranger.poll() is None

    def leave(self) -> None:
        """Stop, and prove it."""
        self._stop()
        assert "All is accounted for" in self._run("push verify")
        listed = json.loads(self._run("push retries list --json"))["items"]
        assert all(item["kind"] == "turn" and item["state"] == "failed" for item in listed), listed

    # -- at the keyboard -------------------------------------------------------------------------------------------

    def _run(self, command: str, *, code: int | None = 0, seconds: float = 60) -> str:
        self._shell.enter(command)
        return self._end(code, seconds)

    def _end(self, code: int | None, seconds: float = 60) -> str:
        ended, seen = self._shell.finish(seconds)
        seen = seen.replace("\r\n", "\n")
        assert code is None or ended == code, f"exit code {ended} instead of {code}:\n{seen}"
        return seen

    def _answer(self, question: str, text: str) -> None:
        self._shell.wait_for(re.compile(question).search, f"the question {question!r}")
        self._shell.forget()
        self._shell.type(text)

    def _pair(self) -> None:
        found = self._shell.wait_for(_LINK.search, "the link to the bot")
        self._machine.telegram.say(OWNER, f"/start {found[1]}")
        self._answer(r"Is that you\?", "y")

    def _start(self, command: str = "push run") -> None:
        self._gateway = self._machine.terminal()
        self._gateway.enter(". .venv/bin/activate")
        self._gateway.finish()
        self._gateway.enter(command)
        self._gateway.wait_for(re.compile("Push is polling").search, "the gateway's first line")

    def _stop(self) -> None:
        assert self._gateway is not None
        self._gateway.type("^C")
        assert self._gateway.finish()[0] == 0
        self._gateway = None

    def _write(self) -> int:
        self._count += 1
        self._machine.telegram.say(OWNER, f"message {self._count}")
        return self._count

    def _is_answered(self) -> None:
        self._machine.answers(self._write())


def _next(seen: str) -> str:
    """The command that was printed, the last one."""
    found: list[str] = _NEXT.findall(seen)
    assert found, f"no command is printed:\n{seen}"
    return found[-1].rstrip(".")
