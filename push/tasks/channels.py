"""The channels that deliver by themselves, connected when first used: a terminal needs none of them.

Does not own which there are (`push.providers.registry`).
"""

from __future__ import annotations

import logging
import threading

from push.config.settings import Settings
from push.errors import ConfigError
from push.providers import registry
from push.providers.registry import Connected

log = logging.getLogger(__name__)


class Channels:
    """Safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._mutex = threading.Lock()
        self._connected: dict[str, Connected] | None = None

    def get(self, name: str) -> Connected | None:
        """The channel; None for the terminal, for one that is not enabled, and in a process that lacks its token."""
        if name not in self._settings.channels or name not in registry.CHANNELS:
            return None
        try:
            return self.connect().get(name)
        except ConfigError as exc:
            log.error("nothing is delivered: %s. Next: %s", exc.message, exc.hint)  # noqa: TRY400  no surprise
            return None

    def connect(self) -> dict[str, Connected]:
        """All of them. Raises ConfigError where one lacks what it needs."""
        with self._mutex:
            if self._connected is None:
                self._connected = registry.channels(self._settings)
            return self._connected

    def close(self) -> None:
        """Close every connection."""
        with self._mutex:
            for channel in (self._connected or {}).values():
                channel.close()
            self._connected = None
