"""One call of the Bot API, and everything that can become of it.

Owns the address, the token in it and the bounds of an answer; does not own what an answer means (`outcomes`,
`reading`). The token is part of every address: no exception, address or text of a library leaves this module.
"""

from __future__ import annotations

import email.utils
import errno
import json
import logging
import math
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx
from pydantic import SecretStr

from push import __version__, clock
from push.config.kinds import TOKEN_SHAPE, token_complaint
from push.config.settings import Telegram
from push.errors import ConfigError
from push.providers.telegram.connections import Connections

MAX_BODY = 16 * 1024 * 1024  # bytes; a hundred updates of the longest texts have a few million
_CONNECT_SECONDS = 10.0
_HEADERS = {
    "Content-Type": "application/json",
    "Accept-Encoding": "identity",  # what is sent is what is bounded
    "User-Agent": f"push/{__version__}",
}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ok:
    """The method was executed; this is what it returned."""

    result: Any


@dataclass(frozen=True, slots=True)
class Error:
    """The service answered with an error. `description` is its own text, "" where the answer was not of the Bot API.

    `retry_after` (seconds) is from its parameters or its header, the later one; `migrate_to` is the chat's new id.
    """

    status: int
    description: str
    retry_after: float | None = None
    migrate_to: int | None = None


@dataclass(frozen=True, slots=True)
class NoConnection:
    """Proven not executed: the request never left. `reason` is a stable code."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """May have been executed. `reason` is a stable code."""

    reason: str


Reply = Ok | Error | NoConnection | NoAnswer


class BotApi:
    """One bot at one Bot API server, over up to `connections` connections. Safe to use from several threads."""

    def __init__(self, base_url: str, token: SecretStr, *, connections: int) -> None:
        """Raises ConfigError where `token` cannot be one, without showing it."""
        if got := token_complaint(token.get_secret_value()):
            raise ConfigError(f"the bot token is {got}", why=f"it must be {TOKEN_SHAPE}", hint="push config validate")
        self._address = f"{base_url.rstrip('/')}/bot{token.get_secret_value()}/"
        self._connections = Connections(connections)
        #: By how much our clock was ahead of the service's at its last answer; None where it did not say.
        self.skew_seconds: float | None = None

    @classmethod
    def of(cls, telegram: Telegram, *, connections: int) -> Self:
        """The bot of the settings. Raises ConfigError where they have no token, or what cannot be one."""
        if telegram.bot_token is None:
            raise ConfigError(
                "Telegram is on, and there is no bot token",
                why=f"neither telegram.bot_token is set, nor {telegram.bot_token_env} in a descriptor, a credential or "
                "the environment",
                hint="push init",
            )
        return cls(telegram.base_url, telegram.bot_token, connections=connections)

    def call(self, method: str, params: Mapping[str, object], *, timeout_seconds: float) -> Reply:
        """Call `method` once. Never raises; ends after `timeout_seconds`, but for the time that a name takes."""
        if self._connections.client.is_closed:
            return NoConnection("closed")
        connect = min(_CONNECT_SECONDS, timeout_seconds / 3)
        try:
            with (
                self._connections.deadline(timeout_seconds),
                self._connections.client.stream(
                    "POST",
                    self._address + method,
                    content=json.dumps(params, ensure_ascii=False).encode(errors="replace"),
                    headers=_HEADERS,
                    timeout=httpx.Timeout(timeout_seconds, connect=connect, pool=connect),
                ) as response,
            ):
                self.skew_seconds = _skew(response)
                return _reply(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as exc:
            return NoConnection(_connect_reason(exc))
        except (httpx.ProxyError, httpx.UnsupportedProtocol):
            return NoConnection("proxy_refused")
        except httpx.HTTPError as exc:
            return NoAnswer(_lost_reason(exc))
        except Exception as exc:  # noqa: BLE001  a defect, or closed meanwhile; its text may hold the address
            log.error("%s: unexpected %s", method, type(exc).__name__)  # noqa: TRY400
            return NoAnswer("unexpected")

    def close(self) -> None:
        """Close the connections; calls that are under way end at once, their fate unknown."""
        self._connections.close()


def _reply(response: httpx.Response) -> Reply:
    try:
        body = _body(response)
    except httpx.HTTPError as exc:
        if not response.is_error:
            return NoAnswer(_lost_reason(exc))
        body = None  # its status says enough
    match body:
        case {"ok": True} if response.is_success:
            return Ok(body.get("result"))
        case {"ok": False}:
            return _error(response, body)
    if response.is_success:
        return NoAnswer("unreadable")
    return Error(response.status_code, "", _header_seconds(response))


def _error(response: httpx.Response, body: dict[str, Any]) -> Error:
    code, description, parameters = body.get("error_code"), body.get("description"), body.get("parameters")
    if not isinstance(parameters, dict):
        parameters = {}
    waits = (_seconds(parameters.get("retry_after")), _header_seconds(response))
    return Error(
        response.status_code if response.is_server_error else _whole(code) or response.status_code,
        description if isinstance(description, str) else "",
        max((seconds for seconds in waits if seconds is not None), default=None),
        _whole(parameters.get("migrate_to_chat_id")),
    )


def _body(response: httpx.Response) -> Any:
    """The JSON of an answer; None where it is none, or too large."""
    received = bytearray()
    for chunk in response.iter_raw():
        received += chunk
        if len(received) > MAX_BODY:
            return None
    try:
        return json.loads(received)
    except (ValueError, RecursionError):
        return None


def _header_seconds(response: httpx.Response) -> float | None:
    """`Retry-After` in seconds, as a number or as a date."""
    text = response.headers.get("Retry-After", "")
    try:
        return _seconds(float(text))
    except ValueError:
        pass
    try:
        return _seconds(max(0.0, (email.utils.parsedate_to_datetime(text) - clock.now()).total_seconds()))
    except (ValueError, TypeError):
        return None


def _skew(response: httpx.Response) -> float | None:
    """From the header `Date`, which every server of HTTP is to send."""
    try:
        return (clock.now() - email.utils.parsedate_to_datetime(response.headers["Date"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _connect_reason(exc: Exception) -> str:
    if isinstance(exc, httpx.PoolTimeout):
        return "no_free_connection"
    if isinstance(exc, httpx.ConnectTimeout):
        return "connect_timeout"
    cause = next((link for link in _chain(exc) if isinstance(link, OSError)), None)
    match cause:
        case ssl.SSLCertVerificationError():
            return "certificate_rejected"
        case ssl.SSLError():
            return "tls_failed"
        case socket.gaierror():
            return "name_not_resolved"
        case OSError(errno=errno.ECONNREFUSED):
            return "connection_refused"
        case OSError(errno=int(number)):
            return f"os_error_{number}"
    return "connect_failed"


def _lost_reason(exc: Exception) -> str:
    if isinstance(exc, httpx.TimeoutException):
        return "timeout"
    return "connection_lost" if isinstance(exc, httpx.NetworkError) else "broken_answer"


def _chain(exc: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = exc
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__
