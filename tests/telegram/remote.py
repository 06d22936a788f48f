"""The controls from another process: each operation is a call to /control/<operation>.

Owns that way; does not own the operations (controls.py). They have a port of their own, so that they go on while the
bots' port refuses connections; the bots' port tells it at /control/address.
"""

from __future__ import annotations

import base64
import http.client
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from tests.telegram.controls import Controls
from tests.telegram.records import Request, Sent, error_body
from tests.telegram.wire import Call, Line
from tests.telegram.world import TOKEN

ROOT = Path(__file__).resolve().parents[2]

#: Everything public, except what asks a function of the caller again and again.
OPERATIONS = frozenset(
    name
    for name, _ in inspect.getmembers(Controls, inspect.isfunction)
    if not name.startswith("_") and name != "wait_for"
)
_ERRORS: dict[str, type[Exception]] = {
    error.__name__: error for error in (LookupError, KeyError, IndexError, TypeError, ValueError)
}
_RECORDS: dict[str, type[Request | Sent]] = {"requests": Request, "sent": Sent}


class FakeTelegram(Controls):
    """Controls of the fake behind a URL, the same as those of TelegramServer; for several threads at a time."""

    def __init__(self, url: str, token: str = TOKEN) -> None:
        self.url = url
        self.token = token
        with urlopen(f"{url}/control/address", timeout=10) as answer:
            self._control = urlsplit(json.load(answer)["url"])
        self._idle: list[http.client.HTTPConnection] = []

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().close()

    def _ask(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = http.client.HTTPConnection(self._control.netloc, timeout=60)
        try:
            connection.request("POST", f"/control/{name}", json.dumps(arguments, default=_encoded))
            answer = json.loads(connection.getresponse().read(), object_hook=_decoded)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["message"])
        record = _RECORDS.get(name)
        return [record(**row) for row in answer["result"]] if record else answer["result"]


def _operation(name: str) -> Callable[..., Any]:
    signature = inspect.signature(getattr(Controls, name))
    gathers = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)

    def call(self: FakeTelegram, *args: Any, **kwargs: Any) -> Any:
        arguments = dict(signature.bind(self, *args, **kwargs).arguments)
        arguments.pop("self")
        return self._ask(name, arguments | arguments.pop(gathers, {}) if gathers else arguments)

    return call


for _name in OPERATIONS:
    setattr(FakeTelegram, _name, _operation(_name))


class Desk:
    """Answers the control port."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    def __call__(self, call: Call, line: Line) -> None:
        """Carry out one operation: its arguments are a JSON object, {"result": ...} or {"error": ...} comes back."""
        name = call.path.removeprefix("/control/")
        if name not in OPERATIONS:
            line.answer(404, error_body(404, "Not Found"))
            return
        try:
            arguments = json.loads(call.body or b"{}", object_hook=_decoded)
            result = getattr(self._controls, name)(**arguments)
        except tuple(_ERRORS.values()) as error:
            known = next(name for name, kind in reversed(_ERRORS.items()) if isinstance(error, kind))
            line.answer(400, {"error": known, "message": str(error)})
            return
        if name in _RECORDS:
            result = [asdict(record) for record in result]
        line.answer(200, {"result": _encoded(result) if isinstance(result, bytes) else result})


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} has no JSON")


def _decoded(found: dict[str, Any]) -> Any:
    return base64.b64decode(found["base64"]) if set(found) == {"base64"} else found


@contextmanager
def separate(*options: str) -> Iterator[FakeTelegram]:
    """A fake in a process of its own, ended at the end. `options` are those of its command line."""
    command = [sys.executable, "-m", "tests.telegram.server", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url, token = process.stdout.readline().strip(), process.stdout.readline().strip()
        fake = FakeTelegram(url, token)
        try:
            yield fake
        finally:
            fake.close()
            process.stdin.close()  # which ends it
            process.wait(10)
