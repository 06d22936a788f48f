"""A Telegram that tests and benchmarks talk to instead of the real one: the Bot API on a port of the loopback.

Owns the fake as a whole and its process; does not own push, of which it imports nothing.

    with TelegramServer() as telegram:                  # in this process; `separate()` of remote.py: in another
        # the bot's settings: base URL telegram.url, token telegram.token
        telegram.say(7, "hello")                        # private; chat=-100..., thread=5, reply_to=, edit=, voice={...}
        telegram.wait_for(lambda: telegram.sent(7))     # no polling: woken by every change
        telegram.press(7, "q:1")                        # a button that the bot showed
        telegram.fail("sendMessage", 500, "Internal Server Error", chat=7)      # once; times=None: until clear_faults()
        telegram.flood("sendMessage", retry_after=2)    # 429, and violations() tells whether it was heeded
        telegram.disturb("sendMessage", "lose")         # taken, but the answer is lost; records.py lists the kinds
        telegram.refuse_connections(); telegram.accept_connections()
        assert [sent.text for sent in telegram.sent(7)] == ["hello to you"]
        assert telegram.violations() == []              # early retries, too fast, too long
        telegram.requests("getUpdates")                 # everything that was asked, with times and outcomes

`python -m tests.telegram.server [--port N] [--token T] [--topics] [--enforce]` prints its URL and its token, a line
each, and serves until its standard input ends. `FakeTelegram(url)` controls it. A chat is known once somebody wrote in
it, or after add_chat. Unlike Telegram's, an unknown parameter is refused.
"""

from __future__ import annotations

import argparse
import sys
from types import TracebackType
from typing import Self

from tests.telegram.controls import Controls
from tests.telegram.methods import Methods
from tests.telegram.records import Limits
from tests.telegram.remote import Desk
from tests.telegram.service import Service
from tests.telegram.wire import Call, Line, Listener
from tests.telegram.world import TOKEN, Bot, World


class TelegramServer(Controls):
    """The fake in this process: listens from construction to `stop`, or as a context manager."""

    def __init__(self, bot: Bot | None = None, port: int = 0) -> None:
        world = World(bot or Bot())
        methods = Methods(world)
        self._service = Service(world, methods)
        listener = Listener(self._answer, port)
        super().__init__(world, methods.polling, listener)
        self._control = Listener(Desk(self))
        self.bot = world.bot
        self.url = listener.url
        self.token = world.bot.token
        self._control.listen()
        listener.listen()

    def stop(self) -> None:
        """End every connection and thread; blocked polls first."""
        with self._world.changed:
            self._world.stopped = True
            self._world.touch()
        self._listener.stop()
        self._control.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _answer(self, call: Call, line: Line) -> None:
        if call.path == "/control/address":
            line.answer(200, {"url": self._control.url})
        else:
            self._service(call, line)


def main() -> None:
    """Serve until the standard input ends."""
    parser = argparse.ArgumentParser(description="A fake Telegram Bot API on the loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--topics", action="store_true", help="private chats have topics")
    parser.add_argument("--enforce", action="store_true", help="messages over Telegram's limits meet a 429")
    options = parser.parse_args()
    enforced = Limits() if options.enforce else None
    bot = Bot(options.token, has_topics_enabled=options.topics, enforced=enforced)
    with TelegramServer(bot, options.port) as telegram:
        print(telegram.url, telegram.token, sep="\n", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
