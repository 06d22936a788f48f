"""The kinds of value that a setting can have, and how each says what it expects.

Owns single values; does not own which keys exist (`push.config.schema`) or rules between keys (`push.config.rules`).
A complaint never holds the value: it may be a secret.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from push.config.durations import format_duration, parse_duration

DAY = 86_400.0
TOKEN_SHAPE = "a bot token: digits, a colon, 35 letters, digits, '_' or '-', as in 123456789:AAE..., and nothing else"  # noqa: S105

_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]{20,}")
_DSN = re.compile(r"https?://[0-9A-Za-z]+(?::[0-9A-Za-z]+)?@[^\s/@]+/(?:[^\s]*/)?[0-9]+")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def complaint(expected: str, got: str = "") -> PydanticCustomError:
    """The error of a value that is not what its key takes. `got` describes it without showing it."""
    return PydanticCustomError("setting", "{expected}", {"expected": expected, "got": got})


def token_complaint(text: str) -> str:
    """What is wrong with a bot token, without showing any of it; "" where nothing is."""
    if _TOKEN.fullmatch(text):
        return ""
    if not text:
        return "an empty string"
    if _TOKEN.search(text):
        return f"a string of {len(text)} characters that holds more than the token"
    return f"a string of {len(text)} characters that is no token"


def tokens_in(text: str) -> list[str]:
    """Everything in `text` that looks like a bot token."""
    return _TOKEN.findall(text)


def _text(value: str) -> str:
    if not value.strip():
        raise complaint("a string that is not blank", "a blank string")
    if "\0" in value:
        raise complaint("a string without NUL characters", "a string with one")
    return value


def _token(value: object) -> object:
    if not isinstance(value, str):
        raise complaint(TOKEN_SHAPE)
    stripped = value.strip()
    if got := token_complaint(stripped):
        raise complaint(TOKEN_SHAPE, got)
    return stripped


def _api_key(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"[!-~]+", value.strip()):
        return value.strip()
    got = "" if not isinstance(value, str) else "a string with spaces in it" if value.strip() else "a blank string"
    raise complaint("an API key: one word without spaces", got)


def _dsn(value: object) -> object:
    if isinstance(value, str) and is_dsn(value.strip()):
        return value.strip()
    raise complaint(
        "a Sentry DSN, as in https://KEY@HOST/PROJECT", "a string that is none" if isinstance(value, str) else ""
    )


def is_dsn(text: str) -> bool:
    """Whether `text` has the shape of a Sentry DSN."""
    return _DSN.fullmatch(text) is not None


def _url(value: object) -> object:
    expected = "an http or https URL without user name, query or fragment, as in https://example.org/path"
    if not isinstance(value, str):
        raise complaint(expected)
    try:
        url = urlsplit(value.strip())
        valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        valid = False
    if not valid or re.search(r"[\s@?#]", value.strip()):
        raise complaint(expected, "a string that is no such URL")
    return value.strip().rstrip("/")


def _env_name(value: str) -> str:
    if not _ENV_NAME.fullmatch(value):
        raise complaint("the name of an environment variable", "a string that cannot be one")
    return value


def _telegram_id(value: object) -> object:
    if isinstance(value, str):
        raise complaint("a number without quotes, never a name: `push allow` shows that of whoever wrote to the bot")
    return value


class _Duration:
    """Reads a duration and holds it between `least` and `most` seconds."""

    def __init__(self, least: float, most: float) -> None:
        self.least = least
        self.most = most
        self.expected = (
            f'a duration in quotes, as in "90s", "10m" or "1h 30m", '
            f"from {format_duration(least)} to {format_duration(most)}"
        )

    def __call__(self, value: object) -> float:
        seconds = parse_duration(value) if isinstance(value, str) else None
        if seconds is None:
            raise complaint(self.expected, "a string that is no duration" if isinstance(value, str) else "")
        if not self.least <= seconds <= self.most:
            raise complaint(self.expected, "a duration out of bounds")
        return seconds


class _Keep(_Duration):
    """As a duration, or "forever", which is None."""

    def __init__(self, least: float, most: float) -> None:
        super().__init__(least, most)
        self.expected += ', or "forever"'

    def read(self, value: object) -> float | None:
        return None if value == "forever" else self(value)


_DURATION_SCHEMA = WithJsonSchema({"type": "string", "examples": ["90s", "10m", "1h 30m"]})

#: The longest wait is bounded by what the operating system's timers take (24 days in milliseconds).
Timeout = Annotated[float, BeforeValidator(_Duration(1.0, 7 * DAY)), _DURATION_SCHEMA]
Pause = Annotated[float, BeforeValidator(_Duration(0.1, DAY)), _DURATION_SCHEMA]
Age = Annotated[float, BeforeValidator(_Duration(60.0, 365 * DAY)), _DURATION_SCHEMA]
Keep = Annotated[
    float | None,
    BeforeValidator(_Keep(3600.0, 36_525 * DAY).read),
    WithJsonSchema({"type": "string", "examples": ["30d", "1y", "forever"]}),
]

Text = Annotated[str, AfterValidator(_text)]
EnvName = Annotated[str, AfterValidator(_env_name)]
Url = Annotated[str, BeforeValidator(_url), WithJsonSchema({"type": "string", "format": "uri"})]
Token = Annotated[SecretStr, BeforeValidator(_token)]
ApiKey = Annotated[SecretStr, BeforeValidator(_api_key)]
Dsn = Annotated[SecretStr, BeforeValidator(_dsn)]
TelegramId = Annotated[int, Field(ge=-(2**52), le=2**52), BeforeValidator(_telegram_id)]

Channel = Literal["imessage", "telegram", "local"]
Agent = Literal["claude", "codex", "pi", "command"]
