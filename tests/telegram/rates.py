"""Telegram's limits: judged afterwards over what was recorded, or enforced while it happens.

Owns how fast is too fast; does not own recording. What counts is when a request arrived here.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable

from tests.telegram.records import Limits, Request
from tests.telegram.texts import LONGEST_CAPTION, LONGEST_TEXT, units

SENDING = frozenset({"sendMessage", "sendRichMessage", "sendVoice", "sendAudio", "sendPhoto", "sendDocument"})


def violations(requests: Iterable[Request], limits: Limits) -> list[str]:
    """Every broken rule as a sentence; none where the bot behaved."""
    ordered = sorted(requests, key=lambda request: request.monotonic)
    return [*early(ordered), *too_fast(ordered, limits), *too_long(ordered)]


def early(requests: Iterable[Request]) -> list[str]:
    """Requests for a chat (or of a method without one) before the retry_after of a 429 was over."""
    told: dict[object, list[tuple[float, float]]] = defaultdict(list)  # from when to when to be quiet
    found = []
    for request in requests:
        quiet = told[request.method if request.chat is None else request.chat]
        waits = [end - request.monotonic for start, end in quiet if start < request.monotonic < end]
        if waits:
            found.append(f"{_shown(request)}: {max(waits):.3f} s before retry_after is over")
        if request.retry_after is not None and request.done is not None:
            quiet.append((request.done, request.done + request.retry_after))
    return found


def too_fast(requests: Iterable[Request], limits: Limits) -> list[str]:
    """Messages that were taken although the chat, the group or the bot had its share."""
    pace = Pace(limits)
    found = []
    for request in requests:
        if request.method in SENDING and request.executed and request.chat is not None:
            rule, wait = pace.wait(request.chat, request.monotonic)
            if wait > 0:
                found.append(f"{_shown(request)}: {wait:.3f} s too early for {rule}")
            pace.count(request.chat, request.monotonic)
    return found


def too_long(requests: Iterable[Request]) -> list[str]:
    """Texts and captions over their limits, taken or not."""
    found = []
    for request in requests:
        for name, longest in (("text", LONGEST_TEXT), ("caption", LONGEST_CAPTION)):
            text = request.parameters.get(name)
            if isinstance(text, str) and units(text) > longest:
                found.append(f"{_shown(request)}: {name} has {units(text)} UTF-16 units")
    return found


class Pace:
    """What was sent when, as far as it still matters."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._chat: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=1))
        self._group: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=limits.group_messages))
        self._all: deque[float] = deque(maxlen=limits.overall_messages)

    def wait(self, chat: int, now: float) -> tuple[str, float]:
        """Which rule a message would break, and seconds until it would not; 0.0 where it may go."""
        limits = self._limits
        rules = [
            (f"one message per {limits.chat_period:g} s in a chat", self._chat[chat], limits.chat_period),
            (f"{limits.overall_messages} per {limits.overall_period:g} s", self._all, limits.overall_period),
        ]
        if chat < 0:
            name = f"{limits.group_messages} per {limits.group_period:g} s in a group"
            rules.append((name, self._group[chat], limits.group_period))
        waits = [
            (times[0] + period - limits.tolerance - now if len(times) == times.maxlen else 0.0, name)
            for name, times, period in rules
        ]
        longest, name = max(waits)
        return name, max(0.0, longest)

    def count(self, chat: int, now: float) -> None:
        """A message was taken."""
        self._chat[chat].append(now)
        self._all.append(now)
        if chat < 0:
            self._group[chat].append(now)


def retry_after(wait: float) -> int:
    """The whole seconds that a 429 names."""
    return max(1, math.ceil(wait))


def _shown(request: Request) -> str:
    return f"request {request.number} ({request.method}, chat {request.chat})"
