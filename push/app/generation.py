"""What a process of the gateway is made of: its roles, kept to its end, and the parts that work with one configuration.

Owns the order in which parts begin and end; does not own when (`push.app.service`, `push.app.reloading`).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from push import clock
from push.app.consumer import GRACEFUL_SECONDS, Consumer, leave
from push.app.pollers import Pollers
from push.tasks import roles, sweep
from push.tasks.roles import Reading, Role
from push.tasks.turns import Gear


@dataclass(frozen=True, slots=True)
class Parts:
    """What a process is made of. `command` is what started it, as `push run`."""

    command: str
    poll: bool = False
    consume: bool = False


class Seats:
    """The roles of a process. Between two generations of parts nobody else can take them.

    `reading` is what the first of them says at the beginning.
    """

    def __init__(self, run_dir: Path, parts: Parts) -> None:
        """Raises ConflictError where one is taken."""
        self.parts = parts
        self._run_dir = run_dir
        self.reading = Reading(begun=1, ended=0, read_at=clock.now_ms())
        self.poll = roles.take(run_dir, "poll", parts.command, self.reading) if parts.poll else None
        self.consumer: Role | None = None
        if parts.consume:
            try:
                self.consumer = roles.take_consumer(run_dir, parts.command, None if parts.poll else self.reading)
            except BaseException:
                self.close()
                raise

    @property
    def first(self) -> Role:
        """The one in which the process speaks of itself."""
        role = self.poll or self.consumer
        assert role is not None
        return role

    def close(self) -> None:
        """Give them up."""
        if self.poll is not None:
            self.poll.close()
        if self.consumer is not None:
            leave(self.consumer, self._run_dir)


class Generation:
    """The pollers and the consumer of one gear. Begin once; what has stopped can be stopped again."""

    def __init__(self, gear: Gear, seats: Seats) -> None:
        """Raises PushError where these settings cannot be used; nothing has begun."""
        self.gear = gear
        self._pollers: Pollers | None = None
        self._consumer: Consumer | None = None
        self._has_begun = False
        self._ended: bool | None = None
        try:
            if seats.poll is not None:
                self._pollers = Pollers(gear, seats.poll)
            if seats.consumer is not None:
                gear.channels.connect()
                self._consumer = Consumer(gear, seats.consumer)
        except BaseException:
            self.discard()
            raise

    def introduce(self) -> None:
        """Ask the services who we are. Raises ConfigError where one does not want us."""
        if self._pollers is not None:
            self._pollers.introduce()

    def answer(self) -> None:
        """Begin to work on what was read."""
        self._has_begun = True
        if self._consumer is not None:
            self._consumer.start()

    def read(self) -> None:
        """Begin to read."""
        if self._pollers is not None:
            self._pollers.start()

    def stop(self, seconds: float = GRACEFUL_SECONDS) -> bool:
        """Take nothing more, leave running agents to their runners; whether all threads ended in time."""
        if self._ended is not None:
            return self._ended
        self.gear.stop.set()
        read = self._pollers.stop() if self._pollers is not None else True
        answered = self._consumer.stop(seconds) if self._consumer is not None and self._has_begun else True
        self._ended = read and answered
        return self._ended

    def outlive(self) -> threading.Thread:
        """After `stop`: a thread that waits for what did not end in time, closes what it used, and has others go on."""
        thread = threading.Thread(target=self._outlast, name="outlast", daemon=True)
        thread.start()
        return thread

    def _outlast(self) -> None:
        if self._pollers is not None:
            self._pollers.outlast()
        if self._consumer is not None:
            self._consumer.outlast()
        self.discard()
        self.gear.stop.close()
        sweep.call(self.gear.settings.home.run)  # locks that they held have cost others a bell

    def discard(self) -> None:
        """Close the connections, of calls that are under way too. The ledger is everybody's."""
        if self._pollers is not None and not self._has_begun:
            self._pollers.stop()
        if self._consumer is not None and not self._has_begun:
            self._consumer.bells.close()
        self.gear.channels.close()
        self.gear.audit.close()
