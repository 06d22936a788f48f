"""The channels that deliver by themselves, connected when first used: a terminal needs none of them.

Does not own which there are (`push.providers.registry`).
"""

from __future__ import annotations

import threading

from push.config.settings import Settings
from push.model.values import Part, Rendered
from push.providers import registry
from push.providers.registry import Connected


class Channels:
    """Safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._mutex = threading.Lock()
        self._connected: dict[str, Connected] | None = None

    def get(self, name: str) -> Connected | None:
        """The channel; None for the terminal, and for one that the settings do not enable."""
        if name not in self._settings.channels or name not in registry.CHANNELS:
            return None
        with self._mutex:
            if self._connected is None:
                self._connected = registry.channels(self._settings)
        return self._connected.get(name)

    def render(self, name: str, markdown: str) -> Rendered:
        """An agent's reply as the channel shows it; as it is where the channel is not there."""
        channel = self.get(name)
        return channel.render(markdown) if channel else Rendered((Part(markdown),))

    def close(self) -> None:
        """Close every connection."""
        with self._mutex:
            for channel in (self._connected or {}).values():
                channel.close()
            self._connected = None
