"""HTTP/1.1 over sockets of our own: kept connections, and every way in which an answer can fail to come.

Owns sockets and their threads; does not own what is answered.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, BinaryIO

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}
_LARGEST_BODY = 60 * 1024 * 1024  # bytes
_SLICES = 10  # into which an answer that trickles is cut


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request. Names of headers are in lower case."""

    verb: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Line:
    """The connection that a call came on: answers it, or fails to."""

    connection: socket.socket
    ended: bool = field(default=False)

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        """Send a whole answer: a string as HTML, bytes as a file, everything else as JSON."""
        self._send(_message(status, body, headers or {}))

    def trickle(self, status: int, body: Any, pause: Callable[[], bool]) -> None:
        """Send the answer in slices; `pause` waits between two, and tells whether to go on."""
        message = _message(status, body, {})
        size = max(1, -(-len(message) // _SLICES))
        for start in range(0, len(message), size):
            self._send(message[start : start + size])
            if self.ended or not pause():
                return

    def cut(self) -> None:
        """End the connection in good order."""
        self.ended = True

    def reset(self) -> None:
        """End the connection so that the other side gets a reset (RST)."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.ended = True

    def _send(self, message: bytes) -> None:
        try:
            self.connection.sendall(message)
        except OSError:
            self.ended = True  # the client is gone; what it asked for was done all the same


class Listener:
    """A port of the loopback that answers HTTP, a thread for each connection; it can refuse and listen again."""

    def __init__(self, handle: Callable[[Call, Line], None], port: int = 0) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]
        self._listening = False

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def listen(self) -> None:
        """Take connections."""
        if not self._listening:
            self._listening = True
            self._socket.listen(128)
            accepting = threading.Thread(target=self._accept, args=(self._socket,), daemon=True, name="fake accept")
            with self._lock:
                self._threads.add(accepting)
            accepting.start()

    def refuse(self) -> None:
        """End every connection and refuse new ones; the port stays ours."""
        if self._listening:
            self._close()
            self._socket = _bound(self.port)

    def stop(self) -> None:
        """Close everything and wait for the threads."""
        self._close()
        with self._lock:
            threads = set(self._threads)
        for thread in threads - {threading.current_thread()}:
            thread.join(10.0)

    def _close(self) -> None:
        self._listening = False
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._socket.close()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # closed
                with self._lock:
                    self._threads.discard(threading.current_thread())
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True, name="fake connection")
            with self._lock:
                self._connections.add(connection)
                self._threads.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        line = Line(connection)
        try:
            with connection.makefile("rb") as reader:
                while not line.ended and (call := _read(reader)) is not None:
                    self._handle(call, line)
                    if call.headers.get("connection", "").lower() == "close":
                        break
        except (OSError, ValueError):
            pass  # the client went away in the middle of a request, or talks no HTTP
        finally:
            with self._lock:
                self._connections.discard(connection)
                self._threads.discard(threading.current_thread())
            connection.close()


def _bound(port: int) -> socket.socket:
    """A bound socket; until it listens, connections to it are refused."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound


def _read(reader: BinaryIO) -> Call | None:
    """The next request, or None at the connection's end. Raises ValueError for what is no HTTP."""
    first = reader.readline(65536)
    if not first.strip():
        return None
    verb, target, _ = first.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (header := reader.readline(65536)) not in {b"\r\n", b"\n", b""}:
        name, _, value = header.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    path, _, query = target.partition("?")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = _chunked(reader)
    else:
        body = reader.read(min(int(headers.get("content-length", "0")), _LARGEST_BODY))
    return Call(verb, path, query, headers, body)


def _chunked(reader: BinaryIO) -> bytes:
    chunks = []
    while size := int(reader.readline(100).partition(b";")[0], 16):
        chunks.append(reader.read(size))
        reader.readline(100)
    while reader.readline(65536) not in {b"\r\n", b"\n", b""}:
        pass  # trailers say nothing to us
    return b"".join(chunks)


def _message(status: int, body: Any, headers: dict[str, str]) -> bytes:
    kind, content = "application/json", b""
    if isinstance(body, bytes):
        kind, content = "application/octet-stream", body
    elif isinstance(body, str):
        kind, content = "text/html", body.encode()
    else:
        content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", f"Content-Type: {kind}"]
    lines.append(f"Date: {formatdate(usegmt=True)}")
    lines += [f"Content-Length: {len(content)}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + content
