"""A page played from its first command to its last, as a reader would, in one machine.

Owns the order and what is asserted; does not own reading the page (`tests.docs.pages`) nor the machine
(`tests.docs.sandbox`).
"""

from __future__ import annotations

import re

from tests.docs.comparing import difference, matches, screen
from tests.docs.pages import Aside, Command, Fence
from tests.docs.sandbox import OWNER, Sandbox
from tests.docs.terminal import Terminal

#: Prompts of Push; what stands behind one on a page is typed.
_PROMPTS = (r"you>(?: |$)",)
_LINK = re.compile(r"https://t\.me/\w+\?start=([\w-]+)")


class Player:
    """Plays one page."""

    def __init__(self, machine: Sandbox) -> None:
        self._machine = machine
        self._terminal: Terminal | None = None
        self._running: list[Terminal] = []

    def play(self, step: Fence | Aside) -> None:
        """One step. Raises AssertionError, with the line of the page."""
        try:
            if isinstance(step, Aside):
                self._aside(step)
            elif step.is_played:
                self._fence(step)
        except AssertionError as exc:
            raise AssertionError(f"line {step.line}: {exc}") from None

    # -- off the screen --------------------------------------------------------------------------------------------

    def _aside(self, step: Aside) -> None:
        getattr(self, f"_{step.word}")(step.argument)

    def _agents(self, argument: str) -> None:
        self._machine.agents(argument.split())

    def _sh(self, argument: str) -> None:
        code, printed = self._done(argument)
        assert code == 0, f"{argument}: exit code {code}\n{printed}"

    def _says(self, argument: str) -> None:
        who, _, text = argument.rpartition(": ") if re.match(r"\d+: ", argument) else ("", "", argument)
        self._machine.say(text, int(who or OWNER))

    def _sees(self, argument: str) -> None:
        telegram = self._machine.telegram
        try:
            telegram.wait_for(lambda: any(argument in sent.text for sent in telegram.sent(OWNER)), 20)
        except AssertionError:
            texts = [sent.text for sent in telegram.sent(OWNER)]
            raise AssertionError(f"the phone never saw {argument!r}, but {texts}") from None

    def _telegram(self, _argument: str) -> None:
        self._machine.write("~/.push/config.toml", "\n[telegram]\n")

    def _systemd(self, _argument: str) -> None:
        self._machine.systemd()

    def _press(self, argument: str) -> None:
        terminal = self._running.pop()
        terminal.type(argument)
        terminal.finish()

    # -- on the screen ---------------------------------------------------------------------------------------------

    def _fence(self, fence: Fence) -> None:
        if file := fence.one("file"):
            self._machine.write(file, fence.body)
            return
        *firsts, last = fence.commands
        for command in firsts:
            self._command(command, fence, 0)
        if fence.one("stays") is not None:
            self._leave_running(last, fence)
        else:
            self._command(last, fence, int(fence.one("exit") or 0))

    def _command(self, command: Command, fence: Fence, expected: int) -> None:
        terminal = self._window()
        terminal.enter(self._machine.inside(command.text))
        self._answer_prompts(terminal, command, fence)
        code, printed = terminal.finish()
        printed = self._machine.outside(screen(printed))
        assert code == expected, f"`{command.text}` ends with {code}, not {expected}:\n{printed}"
        if command.shown.strip():
            assert matches(command.shown, printed), f"`{command.text}`:\n{difference(command.shown, printed)}"

    def _leave_running(self, command: Command, fence: Fence) -> None:
        terminal = self._window()
        terminal.enter(self._machine.inside(command.text))
        self._answer_prompts(terminal, command, fence)
        shown = command.shown

        def looks_right(seen: str) -> bool:
            return matches(f"{shown}\n…", self._machine.outside(screen(seen)))

        try:
            terminal.wait_for(lambda seen: looks_right(seen) or None, "what the page shows")
        except AssertionError as exc:
            raise AssertionError(f"`{command.text}`: {exc}\n{difference(shown, screen(terminal.printed))}") from None
        self._running.append(terminal)
        self._terminal = None

    def _answer_prompts(self, terminal: Terminal, command: Command, fence: Fence) -> None:
        """Type what the page shows behind the prompts, each when its prompt is there."""
        prompt = re.compile("|".join(f"(?:{one})" for one in (*_PROMPTS, *fence.all("asks"))))
        hidden = iter(fence.all("hidden"))
        at = 0
        for line in command.shown.splitlines():
            if fence.one("link") is not None and (_LINK.search(line) or "start=" in line):
                found = terminal.wait_for(_LINK.search, "the link to the bot")
                self._machine.say(f"/start {found[1]}")
            if asked := prompt.match(line):
                at = self._until_asked(terminal, re.escape(asked[0].rstrip()), at)
                if typed := line[asked.end() :].strip() or next(hidden, ""):
                    terminal.type(typed)

    @staticmethod
    def _until_asked(terminal: Terminal, question: str, at: int) -> int:
        """Wait for the next such prompt behind place `at`; the place behind it."""
        found = terminal.wait_for(re.compile(rf"(?s).{{{at}}}.*?{question}").match, f"the prompt {question!r}")
        return found.end()

    def _done(self, text: str) -> tuple[int, str]:
        terminal = self._window()
        terminal.enter(self._machine.inside(text))
        return terminal.finish()

    def _window(self) -> Terminal:
        if self._terminal is None:
            self._terminal = self._machine.terminal()
        return self._terminal
