"""Which channels there are beside the terminal: one line each. A new one is a package and a line here.

Owns the names, and that a channel is imported only where it is used; does not own which are on (`push.config`).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final, Protocol

from push.config.settings import Settings
from push.model.values import Part, Rendered
from push.providers.base import Channel, Presence, Reader


@dataclass(frozen=True, slots=True)
class Provider:
    """A channel's classes as `module:name`, each made from the settings alone. It may be read only, or written only."""

    channel: str | None = None
    reader: str | None = None


class Connected(Channel, Presence, Protocol):
    """A channel that delivers by itself, and shows signs of life beside it."""


#: Name in the configuration -> its classes.
CHANNELS: Final[dict[str, Provider]] = {
    "telegram": Provider(
        "push.providers.telegram.channel:TelegramChannel", "push.providers.telegram.reading:TelegramReader"
    ),
}


def channels(settings: Settings) -> dict[str, Connected]:
    """The channels that are on and deliver by themselves. Raises ConfigError where one lacks what it needs."""
    providers = {name: CHANNELS[name] for name in settings.channels if name in CHANNELS}
    return {name: _made(provider.channel, settings) for name, provider in providers.items() if provider.channel}


def reader_for(name: str, settings: Settings) -> Reader | None:
    """What reads channel `name`, which is on; None where nothing is polled. Raises ConfigError likewise."""
    provider = CHANNELS.get(name, Provider())
    reader: Reader | None = _made(provider.reader, settings) if provider.reader else None
    return reader


def render(name: str, markdown: str) -> Rendered:
    """An agent's reply as channel `name` shows it, whether it is on or not: what it is sent as may be sent later."""
    provider = CHANNELS.get(name, Provider())
    rendered: Rendered = _class(provider.channel).render(markdown) if provider.channel else Rendered((Part(markdown),))
    return rendered


def _made(path: str, settings: Settings) -> Any:
    return _class(path)(settings)


def _class(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
