"""A server on loopback that answers each request with the next line of a script.

Owns what goes over the wire, byte by byte; does not own what Telegram means (`tests.telegram`).
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

TOKEN = "123456789:AAE0dGVzdC10b2tlbi1vZi1ub2JvZHktMDAw"

#: Writes an answer to a connection. Afterwards the connection is kept, unless the line returns False.
Line = Callable[[socket.socket], bool]


def answer(status: int, body: object, headers: tuple[str, ...] = ()) -> Line:
    """A whole answer; a body that is no text becomes JSON."""
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    return raw(whole(status, content, headers))


def whole(status: int, content: bytes, headers: tuple[str, ...] = ()) -> bytes:
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def raw(content: bytes) -> Line:
    """These bytes, in one write."""

    def line(connection: socket.socket) -> bool:
        connection.sendall(content)
        return True

    return line


def cut(content: bytes = b"") -> Line:
    """These bytes, then the end of the connection."""

    def line(connection: socket.socket) -> bool:
        connection.sendall(content)
        return False

    return line


def message(number: int = 7) -> Line:
    """The answer to a message that was sent."""
    return answer(200, {"ok": True, "result": {"message_id": number, "chat": {"id": 5}}})


def refusal(description: str, status: int = 400) -> Line:
    return answer(status, {"ok": False, "error_code": status, "description": description})


@dataclass
class Script:
    """The lines to come, and what was asked so far: (method or target, parameters)."""

    url: str
    ended: threading.Event
    lines: list[Line] = field(default_factory=list)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    connections: int = 0
    greeting: bytes = b""  # sent before anything is asked

    def stall(self, _connection: socket.socket) -> bool:
        """A line that answers nothing until the test is over."""
        self.ended.wait(30)
        return False

    def trickle(self, content: bytes) -> Line:
        """Bytes that come one every 50 ms: each in time, all of them never."""

        def line(connection: socket.socket) -> bool:
            for byte in content:
                connection.sendall(bytes([byte]))
                if self.ended.wait(0.05):
                    return False
            return True

        return line


@contextmanager
def scripted() -> Iterator[Script]:
    """The server, until the end of the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    script = Script(f"http://127.0.0.1:{listener.getsockname()[1]}", threading.Event())
    threads = [threading.Thread(target=_accept, args=(listener, script), daemon=True)]
    threads[0].start()
    try:
        yield script
    finally:
        script.ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        threads[0].join(5)


def _accept(listener: socket.socket, script: Script) -> None:
    workers: list[threading.Thread] = []
    with suppress(OSError):  # the listener is closed
        while True:
            connection, _ = listener.accept()
            connection.settimeout(0.05)
            script.connections += 1
            workers.append(threading.Thread(target=_serve, args=(connection, script), daemon=True))
            workers[-1].start()
    for worker in workers:
        worker.join(5)


def _serve(connection: socket.socket, script: Script) -> None:
    with connection, suppress(OSError):  # the client hung up
        connection.sendall(script.greeting)
        while request := _request(connection, script):
            script.asked.append(request)
            line = script.lines.pop(0) if script.lines else message()
            if not line(connection):
                return


def _request(connection: socket.socket, script: Script) -> tuple[str, Any] | None:
    received = b""
    while True:
        head, separator, body = received.partition(b"\r\n\r\n")
        if separator and len(body) >= _length(head):
            break
        if script.ended.is_set():
            return None
        with suppress(TimeoutError):
            chunk = connection.recv(65536)
            if not chunk:
                return None
            received += chunk
    target = head.split()[1].decode()
    return target.removeprefix(f"/bot{TOKEN}/"), json.loads(body) if body else None


def _length(head: bytes) -> int:
    for header in head.lower().split(b"\r\n"):
        if header.startswith(b"content-length:"):
            return int(header.partition(b":")[2])
    return 0
