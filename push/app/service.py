"""`push run`, `push poll` and `push consumer` in the foreground: roles, signals, a bounded stop."""

from __future__ import annotations

import logging
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from push import assistant
from push.agents import process
from push.agents.spool import Spool
from push.app.consumer import Consumer
from push.app.gear import open_gear
from push.app.poller import Poller
from push.config.settings import Settings
from push.errors import ConfigError, DependencyError
from push.ledger import allowlist, backlog, turns
from push.providers.base import Reader
from push.providers.local import CHANNEL
from push.providers.registry import reader_for
from push.tasks import roles
from push.tasks.bells import Bells
from push.tasks.turns import Gear

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a process is made of."""

    poll: bool = False
    consume: bool = False


def serve(settings: Settings, command: str, parts: Parts, say: Callable[[str], None]) -> bool:
    """Run until a signal; `say` gets a line when all runs, and one at the end. Returns whether all ended in time.

    Raises ConflictError where a role is taken, ConfigError where a channel cannot be used, and PushError where the
    home is not usable.
    """
    gear = open_gear(settings)
    stop = gear.stop
    _handle_signals(gear)
    pollers: Pollers | None = None
    consumer: Consumer | None = None
    try:
        if parts.poll:
            pollers = Pollers(gear, command)
        if parts.consume:
            gear.channels.connect()
            consumer = Consumer(gear, command)
            consumer.start()
        if pollers:
            pollers.start()
        say(_summary(settings, parts))
        for warning in _warnings(gear, parts):
            say(warning)
        stop.wait()
        ended = pollers.stop() if pollers else True
        ended = (consumer.stop() if consumer else True) and ended
        consumer = None
        say(_farewell(gear))
        return ended
    finally:
        if consumer:
            consumer.stop()
        if pollers:
            pollers.close()
        gear.channels.close()
        gear.db.close()
        for number in (signal.SIGTERM, signal.SIGINT):  # a late one must not turn a good end into a death
            signal.signal(number, signal.SIG_IGN)


class Pollers:
    """The home's poller: a loop for each channel that is polled. `push chat` commits what is typed by itself."""

    def __init__(self, gear: Gear, command: str) -> None:
        """Raises ConflictError where the role is taken, and PushError for a channel that cannot be polled."""
        settings = gear.settings
        readers = [_reader(settings, channel) for channel in settings.channels if channel != CHANNEL]
        self._role = roles.take(settings.home.run, "poll", command)
        self._bells = Bells(settings.home)
        self._loops = [Poller(gear, reader, self._bells, self._role) for reader in readers]
        if not readers:
            self._role.beat("poll", "no channel to poll; the terminal commits its own messages")

    def start(self) -> None:
        """Begin to read. Raises ConfigError where a service does not want us: a token that it does not know."""
        for loop in self._loops:
            loop.introduce()
        for loop in self._loops:
            loop.start()

    def stop(self) -> bool:
        """After the stop flag: wait until nothing is being stored; whether that was soon."""
        return all(ended for ended in map(Poller.join, self._loops))

    def read_once(self) -> None:
        """Store what is there now. Raises TemporaryError where a channel cannot be read."""
        for loop in self._loops:
            loop.read_once()

    def close(self) -> None:
        """Give the role up."""
        self._role.close()
        self._bells.close()


def _reader(settings: Settings, channel: str) -> Reader:
    reader = reader_for(channel, settings)
    if reader is None:
        raise DependencyError(
            f"the channel {channel} cannot be polled by this version",
            why="so far the terminal and Telegram are channels",
            hint='leave it out of `channels`, or use: channels = ["telegram"]',
            code="channel_unavailable",
        )
    return reader


def poll_once(settings: Settings, command: str) -> None:
    """`push poll --once`: store what the channels hold now, then end. Raises PushError where one cannot be read."""
    gear = open_gear(settings)
    pollers = Pollers(gear, command)
    try:
        pollers.read_once()
    finally:
        pollers.close()
        gear.channels.close()
        gear.db.close()


def drain(settings: Settings, command: str) -> None:
    """`push consumer --drain`: work until nothing is open and due, then end."""
    gear = open_gear(settings)
    _handle_signals(gear)
    gear.channels.connect()
    consumer = Consumer(gear, command)
    consumer.start()
    while not consumer.is_idle() and not gear.stop.wait(0.05):
        pass
    consumer.stop()
    gear.channels.close()
    gear.db.close()


def _summary(settings: Settings, parts: Parts) -> str:
    what = " and ".join(word for word, wanted in (("polling", parts.poll), ("consuming", parts.consume)) if wanted)
    return f"Push is {what}. Home: {settings.home.root}. Agent: {settings.agent or 'none'}. Stop with Ctrl-C."


def _warnings(gear: Gear, parts: Parts) -> list[str]:
    """What will fail at the first message and can be said now."""
    settings, found = gear.settings, []
    program = settings.bin_for(settings.agent)[:1] if parts.consume and settings.agent else ()
    if program and shutil.which(program[0]) is None:
        found.append(f"Warning: the agent's program {program[0]} is not found. Next: push doctor")
    if parts.consume and settings.agent:
        try:
            assistant.compose(settings.assistant_root)
        except ConfigError as exc:
            found.append(f"Warning: {exc.message}. Next: push doctor")
    listed = settings.telegram.allow_user_ids | settings.telegram.allow_chat_ids
    if parts.poll and "telegram" in settings.channels and not listed and not allowlist.entries(gear.db, "telegram"):
        found.append("Warning: nobody may write to the bot yet. Next: write to it, then: push allow list")
    return found


def _farewell(gear: Gear) -> str:
    left = backlog.read(gear.db).turns.get("running", 0)
    if not left:
        return "Stopped."
    agents = "1 agent works on by itself" if left == 1 else f"{left} agents work on by themselves"
    return f"Stopped. {agents}; what comes of it is collected at the next start."


def _handle_signals(gear: Gear) -> None:
    """First SIGTERM or SIGINT: graceful, running agents go on in their runners. A second one stops them too."""
    stop = gear.stop

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set and not stop.hard:
            stop.hard = True
            threading.Thread(target=terminate_running, args=(gear,), name="terminate").start()
        stop.set()

    stop.set_by_signals()
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)


def terminate_running(gear: Gear) -> None:
    """Stop every agent that runs in this home; what it was doing is resumed, once, at the next start."""
    for conversation_id, _ in turns.open_conversations(gear.db):
        turn = turns.head(gear.db, conversation_id)
        if turn is not None and turn.state == "running":
            process.terminate(Spool.at(gear.settings.home.spool, f"t{turn.id}-{turn.attempt}"))
    gear.db.close_thread()
