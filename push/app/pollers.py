"""The home's poller: a loop for each channel that is polled. Does not own the loop (`push.app.poller`)."""

from __future__ import annotations

from push.app.poller import Poller
from push.config.settings import Settings
from push.errors import DependencyError
from push.providers.base import Reader
from push.providers.local import CHANNEL
from push.providers.registry import reader_for
from push.tasks.bells import Bells
from push.tasks.roles import Role
from push.tasks.turns import Gear


class Pollers:
    """Start once, stop once. `push chat` commits what is typed by itself."""

    def __init__(self, gear: Gear, role: Role) -> None:
        """Raises PushError for a channel that cannot be polled."""
        settings = gear.settings
        self._role = role
        readers = [_reader(settings, channel) for channel in settings.channels if channel != CHANNEL]
        self._bells = Bells(settings.home)
        self._loops = [Poller(gear, reader, self._bells, role) for reader in readers]
        self._names = [reader.name for reader in readers]

    def introduce(self) -> None:
        """Ask each service who we are. Raises ConfigError where it does not want us: a token that it does not know."""
        for loop in self._loops:
            loop.introduce()

    def start(self) -> None:
        """Begin to read. What the role says of channels that are not read any more is forgotten."""
        self._role.forget(*self._names, *(f"{name}.good" for name in self._names))
        if not self._loops:
            self._role.beat("poll", "no channel to poll; the terminal commits its own messages")
        for loop in self._loops:
            loop.start()

    def stop(self) -> bool:
        """After the stop flag: wait until nothing is being stored; whether that was soon. Closes the connections."""
        ended = [loop.join() for loop in self._loops]
        self._bells.close()
        return all(ended)

    def outlast(self) -> None:
        """After `stop`: wait for what did not end soon."""
        for loop in self._loops:
            loop.outlast()
        self._bells.close()

    def read_once(self) -> None:
        """Store what is there now. Raises TemporaryError where a channel cannot be read."""
        for loop in self._loops:
            loop.read_once()


def _reader(settings: Settings, channel: str) -> Reader:
    reader = reader_for(channel, settings)
    if reader is None:
        raise DependencyError(
            f"the channel {channel} cannot be polled by this version",
            why=f"so far the terminal and Telegram are channels: leave it out of `channels` in {settings.path}",
            hint="push config validate",
            code="channel_unavailable",
        )
    return reader
