"""Learning the owner's id: whoever sends the bot a one-time code that only this terminal has shown.

Owns the code, and looking for it among the messages that wait; confirms none of them, so that the gateway reads them
all. Does not own the question whether it is the right person (`push.cli.init`), nor the list (`push.setup.people`).
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from push import clock
from push.config.settings import Settings
from push.errors import ConfigError, ConflictError
from push.providers.base import Closed, Later
from push.providers.telegram.calls import BotApi, Ok
from push.providers.telegram.fields import identifier, instant, items, table, words
from push.providers.telegram.origins import is_person
from push.providers.telegram.reading import ALLOWED_UPDATES, ANSWER_SECONDS, BATCH, WAIT_SECONDS, failure
from push.tasks import roles

CODE_SECONDS = 600.0
_CODE_BYTES = 16
_PAUSE_SECONDS = 1.0  # the service slows down a bot that asks for the same again and again
_LONGEST_PAUSE_SECONDS = 30.0
_DELAY_SECONDS = 5.0  # what the two clocks' difference may be wrong by
_ENOUGH_CONFLICTS = 3
_START = re.compile(r"/start ([A-Za-z0-9_-]{1,64})")
_FORWARDS = ("forward_origin", "forward_date", "forward_from", "via_bot")
_LONGEST_NAME = 64  # characters


@dataclass(frozen=True, slots=True)
class Code:
    """What the person is to send, once. `made_at`: seconds since 1970; `until`: on the monotonic clock."""

    text: str
    made_at: int
    until: float

    @classmethod
    def new(cls) -> Code:
        """A code of 128 random bits."""
        return cls(secrets.token_urlsafe(_CODE_BYTES), clock.now_ms() // 1000, clock.monotonic() + CODE_SECONDS)

    def link(self, bot: str) -> str:
        """The address that sends it with one tap. `bot` is `@name`."""
        return f"https://t.me/{bot.removeprefix('@')}?start={self.text}"

    def left(self) -> float:
        """Seconds until it is worth nothing."""
        return self.until - clock.monotonic()


@dataclass(frozen=True, slots=True)
class Claimed:
    """Somebody sent the code. `name` is what they call themselves, fit for a terminal."""

    user: int
    name: str


@dataclass(frozen=True, slots=True)
class Expired:
    """Nobody sent it in time."""


@dataclass(frozen=True, slots=True)
class Crowded:
    """So many messages wait that the code cannot be seen behind them."""


@contextmanager
def reading_alone(settings: Settings) -> Iterator[None]:
    """Hold the role of who reads the channels. Raises ConflictError where a gateway of this home does."""
    settings.home.make()
    holder = next((held for held in roles.living(settings.home.run) if held.role == "poll"), None)
    if holder is not None:
        reads_it = "telegram" in holder.loops
        raise ConflictError(
            f"the bot cannot be asked who you are while `{holder.command}` runs (process {holder.pid})",
            why="write to the bot, and the list shows you with the command that lets you in"
            if reads_it
            else "it does not read Telegram yet; it does after a reload, and then `push allow list` shows who wrote",
            hint="push allow list" if reads_it else "push reload",
            code="role_taken",
        )
    role = roles.take(settings.home.run, "poll", "push init")
    try:
        yield
    finally:
        role.close()


def wait(settings: Settings, code: Code, say: Callable[[str], None]) -> Claimed | Expired | Crowded:
    """Read the bot's messages until somebody has sent the code. `say` gets a line where the service holds it up.

    Raises ConfigError where the service refuses the token, ConflictError where another program reads the bot.
    """
    api = BotApi.of(settings.telegram, connections=1)
    try:
        return _Listening(api, code, say).until_claimed()
    finally:
        api.close()


class _Listening:
    def __init__(self, api: BotApi, code: Code, say: Callable[[str], None]) -> None:
        self._api = api
        self._code = code
        self._say = say
        self._failures = 0
        self._said = ""

    def until_claimed(self) -> Claimed | Expired | Crowded:
        while (left := self._code.left()) > 0:
            asked_at = clock.monotonic()
            updates = self._updates(min(WAIT_SECONDS, int(left) + 1))
            if updates is None:
                continue
            since = self._code.made_at - (self._api.skew_seconds or 0.0) - _DELAY_SECONDS
            claimed = next(filter(None, (claim(update, self._code, since) for update in updates)), None)
            if claimed is not None:
                return claimed
            if len(updates) >= BATCH:
                return Crowded()
            time.sleep(max(_PAUSE_SECONDS if updates else asked_at + _PAUSE_SECONDS - clock.monotonic(), 0.0))
        return Expired()

    def _updates(self, wait_seconds: int) -> list[Any] | None:
        """All that waits, confirming nothing; None after a failure that was waited out."""
        params = {"timeout": wait_seconds, "limit": BATCH, "allowed_updates": ALLOWED_UPDATES}
        reply = self._api.call("getUpdates", params, timeout_seconds=wait_seconds + ANSWER_SECONDS)
        if isinstance(reply, Ok):
            self._failures = 0
            return items(reply.result)
        match failure(reply):
            case Closed(reason, hint):
                why = f"the service says: {reason.replace('_', ' ')}"
                raise ConfigError("the bot cannot be read", why=why, hint=hint, code="channel_closed")
            case Later(reason, seconds):
                self._wait_out(reason, seconds)
        return None

    def _wait_out(self, reason: str, seconds: float | None) -> None:
        self._failures = self._failures + 1 if reason == self._said else 1
        if reason == "webhook_active" or (reason == "another_poller" and self._failures >= _ENOUGH_CONFLICTS):
            taker = "a webhook takes" if reason == "webhook_active" else "another program reads"
            why = "so the code that you send would not arrive here"
            raise ConflictError(f"{taker} the bot's messages", why=why, hint="push doctor", code=reason)
        pause = seconds or min(_PAUSE_SECONDS * 2.0**self._failures, _LONGEST_PAUSE_SECONDS)
        if reason != self._said:
            self._say(f"Telegram: {reason.replace('_', ' ')}; asking again in {pause:.0f} s.")
            self._said = reason
        time.sleep(max(min(pause, self._code.left()), 0.0))


def claim(update: object, code: Code, since: float) -> Claimed | None:
    """Who sent the code in this update: a person, for themselves, in private, `since` the service's clock said that."""
    message = table(table(update).get("message"))
    match = _START.fullmatch(words(message.get("text")))
    if match is None or not hmac.compare_digest(match[1].encode(), code.text.encode()):
        return None
    sender, chat = table(message.get("from")), table(message.get("chat"))
    user = identifier(sender.get("id"))
    is_private = chat.get("type") == "private" and identifier(chat.get("id")) == user
    if user is None or user < 0 or not is_private or not is_person(message):
        return None
    if any(key in message for key in _FORWARDS) or (instant(message.get("date")) or 0) < since:
        return None
    return Claimed(user, _name(sender))


def _name(sender: dict[str, Any]) -> str:
    """First and last name and user name, without what would steer a terminal or turn the line around."""
    username = words(sender.get("username"))
    told = (words(sender.get("first_name")), words(sender.get("last_name")), username and f"@{username}")
    text = " ".join(part for part in told if part)
    return "".join(char for char in text if char.isprintable())[:_LONGEST_NAME] or "without a name"
