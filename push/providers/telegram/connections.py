"""HTTP connections whose calls end in time. Owns the client and its deadlines; does not own what is asked.

httpx bounds each read, so that a service which sends a byte a second holds its caller for ever. Here every wait of a
call ends at the call's own deadline, and closing ends the calls that are under way.
"""

from __future__ import annotations

import functools
import socket
import ssl
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpcore
import httpx

from push import clock

KEEP_SECONDS = 50.0  # an idle connection; the service closes it after 60, and a send must not meet that moment


class Connections:
    """Up to `count` connections at once, reused. Safe to use from several threads; each runs one call at a time."""

    def __init__(self, count: int) -> None:
        limits = httpx.Limits(
            max_connections=count,
            max_keepalive_connections=count,
            keepalive_expiry=KEEP_SECONDS,
        )
        self.client = httpx.Client(verify=_trust(), limits=limits)
        self._backend = _Backend()
        for transport in (self.client._transport, *self.client._mounts.values()):  # noqa: SLF001  has no public name
            if isinstance(transport, httpx.HTTPTransport):
                transport._pool._network_backend = self._backend  # noqa: SLF001  likewise

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """What this thread waits for, within, ends after `seconds` in all."""
        self._backend.limit.until = clock.monotonic() + seconds
        yield

    def close(self) -> None:
        """End the calls that are under way, and close every connection."""
        self._backend.hang_up()
        self.client.close()


@functools.cache
def _trust() -> ssl.SSLContext:
    """The certificates that are trusted: read once, which takes longer than a call."""
    return httpx.create_ssl_context()


class _Limit(threading.local):
    until: float = 0.0

    def left(self, seconds: float | None) -> float:
        """`seconds`, or what is left until the deadline; 0 or less once it has passed."""
        left = self.until - clock.monotonic()
        return left if seconds is None else min(left, seconds)


class _Backend(httpcore.NetworkBackend):
    """Opens connections that know the deadline of whoever uses them at the moment."""

    def __init__(self) -> None:
        self.limit = _Limit()
        self._plain = httpcore.SyncBackend()
        self._lock = threading.Lock()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._is_over = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        if (left := self.limit.left(timeout)) <= 0:
            raise httpcore.ConnectTimeout
        return self.watched(self._plain.connect_tcp(host, port, left, local_address, socket_options))

    def watched(self, stream: httpcore.NetworkStream) -> httpcore.NetworkStream:
        """Raises ConnectError where all was hung up meanwhile: nothing has been asked yet."""
        with self._lock:
            if not self._is_over:
                self._sockets.add(stream.get_extra_info("socket"))
                return _Stream(stream, self)
        stream.close()
        raise httpcore.ConnectError

    def hang_up(self) -> None:
        with self._lock:
            self._is_over = True
            sockets = list(self._sockets)
        for opened in sockets:
            with suppress(OSError):  # closed already
                socket.socket.shutdown(opened, socket.SHUT_RDWR)  # below TLS: another thread may be reading there


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, backend: _Backend) -> None:
        self._stream = stream
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if (left := self._backend.limit.left(timeout)) <= 0:
            raise httpcore.ReadTimeout
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if (left := self._backend.limit.left(timeout)) <= 0:
            raise httpcore.WriteTimeout
        self._stream.write(buffer, left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        if (left := self._backend.limit.left(timeout)) <= 0:
            raise httpcore.ConnectTimeout
        return self._backend.watched(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
