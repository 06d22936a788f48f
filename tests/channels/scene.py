"""A home whose channel is Telegram, and a Telegram in a process of its own: the gateway as its people meet it.

Owns bringing the two together; does not own processes and homes (`tests.crash.site`) nor the fake (`tests.telegram`).
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from push.tasks import sweep
from tests.crash.site import AGENT, Process, Site
from tests.telegram.remote import FakeTelegram

T = TypeVar("T")

#: People that the configuration lets in.
PEOPLE = tuple(range(7, 37))
REPEAT = "🔁 Possibly a repeat:"
WAITS = "🕒"
LATE = "⏳ Late, written "
MISSED = "⚠️ An earlier answer could not be delivered"

_CONFIG = """\
channels = ["telegram"]
agent = "command"
command = ["{agent}"]
assistant_root = "{assistant}"
{more}

[telegram]
bot_token = "{token}"
allow_user_ids = {people}
base_url = "{url}"
base_file_url = "{url}/file"
{chats}
"""


class Scene(Site):
    """One home and one Telegram. `telegram` does what people do; `turns`, `until` and so on look at the home."""

    def __init__(self, root: Path, telegram: FakeTelegram, *, agent: str = AGENT, more: str = "") -> None:
        self.telegram = telegram
        super().__init__(root, agent=agent, more=more)

    def configure(
        self, more: str = "", kind: str = "command", *, token: str | None = None, chats: tuple[int, ...] = ()
    ) -> None:
        """Write config.toml anew. `more` are lines before the table [telegram], `chats` the groups that are let in."""
        assert kind == "command"
        self.config.write_text(
            _CONFIG.format(
                agent=self.agent,
                assistant=self.assistant,
                more=more,
                token=token or self.telegram.token,
                people=list(PEOPLE),
                url=self.telegram.url,
                chats=f"allow_chat_ids = {list(chats)}" if chats else "",
            )
        )

    def play(self, agent: str) -> None:
        """Give the agent another script."""
        self.agent.write_text(agent)

    def answers(self, chat: int) -> list[str]:
        """The texts that arrived in a chat, in order, without acknowledgements of messages that wait."""
        return [sent.text for sent in self.telegram.sent(chat) if not sent.text.startswith(WAITS)]

    def until_answered(self, chat: int, count: int = 1, seconds: float = 30.0) -> list[str]:
        """Wait until a chat has so many messages of the bot, and return their texts."""
        return self.until_telegram(
            lambda: found if len(found := self.answers(chat)) >= count else [], f"{count} messages in {chat}", seconds
        )

    def until_telegram(self, look: Callable[[], T], what: str, seconds: float = 30.0) -> T:
        """Wait until Telegram looks like that; fails the test, with what the home looks like."""
        try:
            return self.telegram.wait_for(look, seconds)
        except AssertionError as exc:
            raise AssertionError(f"waited in vain for {what}: {exc}\n{self.describe()}") from None

    def until_polled(self) -> None:
        """Wait until the gateway has asked once more from now on: what was queued before is stored then."""
        seen = len(self.telegram.requests("getUpdates"))
        self.until_telegram(lambda: len(self.telegram.requests("getUpdates")) > seen, "another poll")

    def deliveries(self) -> list[tuple[Any, ...]]:
        """(state, reason, attempt, repeat) of every outbound row, in the order of commitment."""
        return self.query("SELECT state, reason, attempt, repeat FROM outbound ORDER BY id")

    def until_deliveries(self, *states: str, seconds: float = 30.0) -> None:
        """Wait until the outbound rows have exactly these states."""
        self.until(lambda: [row[0] for row in self.deliveries()] == list(states), f"deliveries {states}", seconds)

    def change(self, *statements: str) -> None:
        """Change push.db from outside."""
        with closing(sqlite3.connect(self.db, timeout=10)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def hurry(self) -> None:
        """Let every delivery that waits be due now."""
        self.change("UPDATE outbound SET not_before = 1 WHERE not_before IS NOT NULL")
        sweep.call(self.root / "run")

    def listed(self) -> str:
        """What `push retries list` shows."""
        return self.done("retries", "list").out

    def status(self) -> str:
        """What `push status` shows."""
        return self.done("status").out

    def done(self, *words: str) -> Process:
        """Run `push WORDS`, which must succeed."""
        process = self.run(*words)
        assert process.wait() == 0, process.err
        return process

    def audit(self, event: str) -> list[str]:
        """The audit's lines with an event."""
        path = self.root / "audit.jsonl"
        return [line for line in path.read_text().splitlines() if f'"{event}"' in line] if path.exists() else []


def marked(texts: list[str]) -> list[str]:
    """Those that are marked as a possible repeat."""
    return [text for text in texts if text.startswith(REPEAT)]


@contextmanager
def scene(root: Path, telegram: FakeTelegram, *, agent: str = AGENT, more: str = "") -> Iterator[Scene]:
    """A scene that leaves no process behind."""
    made = Scene(root, telegram, agent=agent, more=more)
    try:
        yield made
    finally:
        made.end_all()
        shutil.rmtree(made.outside)
