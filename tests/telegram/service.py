"""From an HTTP call to a method and back: token, parameters, scripted faults, the record of it.

Owns the order of these; does not own what a method does.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from tests.telegram.methods import Methods
from tests.telegram.parameters import decoded, spelled
from tests.telegram.records import EXECUTING, Fault, Refused, error_body
from tests.telegram.wire import Call, Line
from tests.telegram.world import World

_PATH = re.compile(r"/(?P<file>file/)?bot(?P<token>[^/]+)/(?P<rest>.+)")
_TOKEN = re.compile(r"\d+:[\w-]+")


class Service:
    """Answers the Bot API's address."""

    def __init__(self, world: World, methods: Methods) -> None:
        self._world = world
        self._methods = methods

    def __call__(self, call: Call, line: Line) -> None:
        """Answer one call."""
        found = _PATH.fullmatch(unquote(call.path))
        if found is None or not _TOKEN.fullmatch(found["token"]):
            line.answer(404, error_body(404, "Not Found"))
        elif found["token"] != self._world.bot.token:
            self._refuse(found["rest"], Refused(401, "Unauthorized"), line)
        elif found["file"]:
            self._download(found["rest"], line)
        elif (method := spelled(found["rest"])) is None:
            self._refuse(found["rest"], Refused(404, "Not Found: method not found"), line)
        else:
            self._method(method, call, line)

    def _refuse(self, method: str, refusal: Refused, line: Line) -> None:
        with self._world.changed:
            self._world.end(self._world.begin(method, {}), refusal.status, refusal.body())
        line.answer(refusal.status, refusal.body())

    def _method(self, method: str, call: Call, line: Line) -> None:
        try:
            parameters = decoded(method, call.query, call.headers.get("content-type", ""), call.body)
        except Refused as refusal:
            self._refuse(method, refusal, line)
            return
        with self._world.changed:
            request = self._world.begin(method, parameters)
            fault = self._world.fault(method, request.chat)
            if fault is not None:
                request.fault = fault.kind
            if fault is None or fault.kind in EXECUTING:
                answer = self._methods.call(request, parameters)
            else:
                answer = fault.status, fault.body
            lost = fault is not None and fault.kind in {"close", "lose", "silence"}
            self._world.end(request, None if lost else answer[0], None if lost else answer[1])
        self._send(answer, fault, line)

    def _download(self, path: str, line: Line) -> None:
        with self._world.changed:
            request = self._world.begin("file", {"path": path})
            fault = self._world.fault("file", None)
            content = self._world.download(path)
            missing = error_body(404, "Not Found")
            answer: tuple[int, Any] = (404, missing) if content is None else (200, content)
            if fault is not None:
                request.fault = fault.kind
                answer = answer if fault.kind in EXECUTING else (fault.status, fault.body)
            request.executed = answer[0] == 200
            self._world.end(request, answer[0], answer[1])
        self._send(answer, fault, line)

    def _send(self, answer: tuple[int, Any], fault: Fault | None, line: Line) -> None:
        """Let the answer go out, in the way that the fault has it."""
        status, body = answer
        kind = fault.kind if fault else "answer"
        seconds = fault.seconds if fault else 0.0
        if kind in {"silence", "late"}:
            self._pause(seconds)
        if kind == "trickle":
            line.trickle(status, body, lambda: self._pause(seconds / 10))
        elif kind in {"close", "silence"}:
            line.cut()
        elif kind == "lose":
            line.reset()
        else:
            line.answer(status, body, _headers(body))

    def _pause(self, seconds: float) -> bool:
        """Wait, unless the fake stops; whether to go on."""
        with self._world.changed:
            self._world.wait(lambda: False, seconds)
            return not self._world.stopped


def _headers(body: Any) -> dict[str, str]:
    parameters = body.get("parameters", {}) if isinstance(body, dict) else {}
    return {"Retry-After": json.dumps(parameters["retry_after"])} if "retry_after" in parameters else {}
