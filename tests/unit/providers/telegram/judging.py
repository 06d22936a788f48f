"""Judges rendered parts as Telegram would. Owns its rules, written apart from the code that keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from push.model.values import Part

STYLES = {"bold", "italic", "strikethrough", "spoiler"}
CODE = {"code", "pre"}
FIELDS = {"type", "offset", "length", "url", "language"}


def entities(part: Part) -> list[dict[str, Any]]:
    """The formatting of a part."""
    found: list[dict[str, Any]] = json.loads(part.entities or "[]")
    return found


def formatted(part: Part) -> list[tuple[str, str]]:
    """What is formatted, and how."""
    wide = part.text.encode("utf-16-le")
    return [
        (entity["type"], wide[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le"))
        for entity in entities(part)
    ]


def squeezed(*texts: str) -> str:
    """Without any white space."""
    return "".join("".join(texts).split())


def faults(part: Part) -> list[str]:
    """What Telegram would refuse, ignore or repair in a part."""
    wide = part.text.encode("utf-16-le", "surrogatepass")
    found = [entity for entity in entities(part) if not 0 <= entity["offset"] < entity["offset"] + entity["length"]]
    wrong = [f"range {entity}" for entity in found]
    if len(wide) > 8000:
        wrong.append(f"{len(wide) // 2} units")
    if not part.text.strip() or part.text != part.text.rstrip():
        wrong.append("blank, or white space at the end")
    if any((char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f" for char in part.text):
        wrong.append("control character")
    try:
        part.text.encode()
    except UnicodeEncodeError:
        wrong.append("lone surrogate")
    if part.entities == "[]" or len(entities(part)) > 100:
        wrong.append(f"{len(entities(part))} entities")
    for entity in entities(part):
        wrong += _faults_of(entity, wide)
    return wrong + _faults_between(entities(part))


def _faults_of(entity: dict[str, Any], wide: bytes) -> list[str]:
    wrong = [f"unknown field in {entity}"] if not set(entity) <= FIELDS else []
    end = entity["offset"] + entity["length"]
    if 2 * end > len(wide):
        wrong.append(f"beyond the end: {entity}")
    try:
        inner = wide[2 * entity["offset"] : 2 * end].decode("utf-16-le")
    except UnicodeDecodeError:
        wrong.append(f"within a pair: {entity}")
    else:
        if not inner.strip():
            wrong.append(f"over white space: {entity}")
    if (entity["type"] == "text_link") != ("url" in entity):
        wrong.append(f"link: {entity}")
    if "language" in entity and (entity["type"] != "pre" or not entity["language"]):
        wrong.append(f"language: {entity}")
    return wrong


def _faults_between(found: Sequence[dict[str, Any]]) -> list[str]:
    wrong = []
    order = [(entity["offset"], -entity["length"]) for entity in found]
    if order != sorted(order):
        wrong.append("not in order")
    around: list[dict[str, Any]] = []
    for entity in found:
        end = entity["offset"] + entity["length"]
        around = [outer for outer in around if outer["offset"] + outer["length"] > entity["offset"]]
        for outer in around:
            kinds = f"{outer['type']} with {entity['type']} in it"
            if outer["offset"] + outer["length"] < end:
                wrong.append(f"crossed: {kinds}")
            if outer["type"] in CODE or outer["type"] == entity["type"]:
                wrong.append(kinds)
            if entity["type"] in CODE and outer["type"] != "blockquote":
                wrong.append(kinds)
        around.append(entity)
    return wrong
