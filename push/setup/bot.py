"""The bot's token: taking it from a file, and asking the service whose it is.

Owns that a token is checked before it is kept, and shown nowhere; does not own the calls (`push.providers.telegram`).
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr

from push.config.kinds import TOKEN_SHAPE, token_complaint
from push.config.settings import Settings
from push.errors import UsageError
from push.providers.base import Closed, Identity, Later
from push.providers.telegram.reading import TelegramReader

_LARGEST = 64 * 1024  # bytes


def from_file(name: str) -> SecretStr:
    """The token in a file, or on standard input for `-`. Raises UsageError, without any of it."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_LARGEST)
        else:
            with Path(name).expanduser().open("rb") as file:
                data = file.read(_LARGEST)
    except OSError as exc:
        hint = f"ls -ld {shlex.quote(name)}"
        raise UsageError(
            f"cannot read {name}: {exc.strerror}", why="it is to hold the bot's token", hint=hint
        ) from None
    return from_text(data.decode(errors="replace"), "standard input" if name == "-" else name)


def from_text(text: str, where: str) -> SecretStr:
    """The token that `text` is, but for blanks around it. Raises UsageError, without any of it."""
    if got := token_complaint(text.strip()):
        hint = "push init --bot-token-file -"
        raise UsageError(f"{where} holds {got}", why=f"it must be {TOKEN_SHAPE}", hint=hint, code="token_shape")
    return SecretStr(text.strip())


def with_token(settings: Settings, token: SecretStr) -> Settings:
    """The settings as they would be with this token."""
    return replace(settings, telegram=replace(settings.telegram, bot_token=token))


def identify(settings: Settings) -> Identity | Later | Closed:
    """Whose token the settings hold, by the service's word. Raises ConfigError where they hold none."""
    reader = TelegramReader(settings)
    try:
        return reader.identify()
    finally:
        reader.close()


def lies_outside_file(settings: Settings) -> bool:
    """Whether the token comes from elsewhere than the configuration, such as a variable."""
    return settings.telegram.bot_token is not None and "telegram.bot_token" not in settings.written


def may_be_written(settings: Settings) -> bool:
    """Whether a token may stand in the configuration: not in a repository's folder."""
    config = settings.path and Path(os.path.realpath(settings.path))
    return config is None or not config.is_relative_to(settings.assistant_root)
