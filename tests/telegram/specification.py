"""Requests held against the published Bot API: unknown field, missing field, wrong type, all the way down.

Owns the check; does not own the specification, which lies in the shared material (so tests that use it are marked).

    assert_valid(telegram.requests(), Specification.read(shared))
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.telegram.records import Request

_FILE = "channels/telegram/bot-api-10.1-subset.json"
_ARRAY = "Array of "
#: Newer than the file, as method or type -> field -> type.
_LATER = {"sendMessageDraft": {"can_stop": "Boolean", "keep_on_stop": "Boolean"}}


class Specification:
    """Methods and types with their fields. A fault is a sentence that starts with where it is."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._methods: dict[str, Any] = content["methods"]
        self._types: dict[str, Any] = content["types"]

    @classmethod
    def read(cls, shared: Path) -> Specification:
        """The one in the shared material."""
        return cls(json.loads((shared / _FILE).read_text()))

    def request_faults(self, method: str, parameters: dict[str, Any]) -> list[str]:
        """What is wrong with a call. A file stands as {"file_name", "size"}, as the fake records it."""
        known = self._methods.get(method)
        if known is None:
            return [f"{method}: no such method"]
        return self._object(method, known.get("fields", []), parameters)

    def faults(self, kind: str, value: Any, where: str = "") -> list[str]:
        """What is wrong with a value of a type, such as Update or Array of MessageEntity."""
        return self._value(where or kind, [kind], value)

    def _object(self, where: str, fields: list[dict[str, Any]], value: dict[str, Any]) -> list[str]:
        name = where.rpartition(".")[2]
        known = {field["name"]: field["types"] for field in fields}
        known |= {field: [kind] for field, kind in _LATER.get(name, {}).items()}
        found = [f"{where}: unknown field {key}" for key in value if key not in known]
        found += [
            f"{where}: missing field {field['name']}"
            for field in fields
            if field["required"] and value.get(field["name"]) is None
        ]
        for key, kinds in known.items():
            if value.get(key) is not None:
                found += self._value(f"{where}.{key}", kinds, value[key])
        return found

    def _value(self, where: str, kinds: list[str], value: Any) -> list[str]:
        """The faults by the alternative that fits best; none where one fits."""
        return min((self._one(where, kind, value) for kind in kinds), key=len)

    def _one(self, where: str, kind: str, value: Any) -> list[str]:
        if kind.startswith(_ARRAY):
            if not isinstance(value, list):
                return [f"{where}: {_type(value)} instead of {kind}"]
            inner = kind.removeprefix(_ARRAY)
            return [fault for n, one in enumerate(value) for fault in self._value(f"{where}[{n}]", [inner], one)]
        if kind not in self._types or kind == "InputFile":
            return [] if _simple(kind, value) else [f"{where}: {_type(value)} instead of {kind}"]
        known = self._types[kind]
        if known["subtypes"]:
            return self._value(where, known["subtypes"], value)
        if not isinstance(value, dict):
            return [f"{where}: {_type(value)} instead of {kind}"]
        return self._object(where, known["fields"], value)


def assert_valid(requests: Iterable[Request], specification: Specification) -> None:
    """Fail with every fault of every request, of downloads none."""
    found = [
        f"request {request.number}: {fault}"
        for request in requests
        if request.method != "file"
        for fault in specification.request_faults(request.method, request.parameters)
    ]
    assert found == [], "\n".join(found)


def _simple(kind: str, value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "Integer":
        return whole
    if kind == "Float":
        return whole or isinstance(value, float)
    if kind == "InputFile":
        return isinstance(value, dict) and set(value) == {"file_name", "size"}
    return isinstance(value, {"String": str, "Boolean": bool}[kind])


def _type(value: Any) -> str:
    return type(value).__name__
