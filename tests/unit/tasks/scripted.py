"""A channel that delivers by itself, with no service behind it: remembers what it is sent, says what a test wants.

Owns the double; its pace is wide unless a test sets it.
"""

from __future__ import annotations

from collections.abc import Callable

from push.model.values import Delivered, Pace, Part, Rendered, SendOutcome

NAME = "telegram"


class ScriptedChannel:
    """`when_sent` is called during each send, and may say what came of it."""

    name = NAME

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.signs: list[tuple[str, ...]] = []
        self.outcomes: dict[str, list[SendOutcome]] = {}  # by text
        self.when_sent: Callable[[str], None] = lambda _text: None
        self.limits: tuple[tuple[int, float], ...] = ((1000, 1.0),)
        self.closed = 0

    @property
    def texts(self) -> list[str]:
        """What was sent, in order."""
        return [text for _, text, _ in self.sent]

    @staticmethod
    def render(markdown: str) -> Rendered:
        return Rendered((Part(f"<{markdown}>"),), markdown)

    def send(self, target: str, part: Part, note: str = "") -> SendOutcome:
        self.sent.append((target, part.text, note))
        self.when_sent(part.text)
        waiting = self.outcomes.get(part.text)
        return waiting.pop(0) if waiting else Delivered(f"r{len(self.sent)}")

    def paces(self, target: str) -> tuple[Pace, ...]:
        return (Pace(target, self.limits),)

    def close(self) -> None:
        self.closed += 1

    def typing(self, target: str) -> SendOutcome:
        return self._sign("typing", target)

    def post(self, target: str, text: str, stop_button: str | None = None) -> SendOutcome:
        return self._sign("post", target, text, stop_button or "")

    def edit(self, target: str, receipt: str, text: str, stop_button: str | None = None) -> SendOutcome:
        return self._sign("edit", target, receipt, text, stop_button or "")

    def answer_press(self, press_id: str, text: str) -> SendOutcome:
        return self._sign("answer_press", press_id, text)

    def announce_commands(self, commands: tuple[tuple[str, str], ...]) -> SendOutcome:
        return self._sign("announce_commands", *(name for name, _ in commands))

    def remove(self, target: str, receipt: str) -> SendOutcome:
        return self._sign("remove", target, receipt)

    def _sign(self, *call: str) -> SendOutcome:
        self.signs.append(call)
        return Delivered(f"s{len(self.signs)}")
