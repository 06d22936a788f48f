"""The errors that the source can raise, read from it.

Owns finding them; does not own what is asserted (`tests.docs.test_errors`).
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass

import push
from push.errors import PushError
from tests.docs.pages import ROOT


@dataclass(frozen=True, slots=True)
class Raised:
    """A place that builds an error. `said` holds the arguments by name, as source text."""

    place: str
    kind: type[PushError]
    said: dict[str, str]

    @property
    def codes(self) -> set[str] | None:
        """The codes that it can have; None where this place does not say."""
        if "code" not in self.said:
            return {self.kind.code}
        nodes = [*ast.walk(ast.parse(self.said["code"], mode="eval"))]
        if any(isinstance(node, ast.Name | ast.Call) for node in nodes):
            return None
        return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def kinds() -> dict[str, type[PushError]]:
    """Every class of the tree, by name."""
    for module in pkgutil.walk_packages(push.__path__, "push."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = [PushError]
    for kind in found:
        found += kind.__subclasses__()
    return {kind.__name__: kind for kind in found if kind.__module__.startswith("push")}


def raised() -> Iterator[Raised]:
    """Every place in the source that builds one."""
    known = kinds()
    for path in sorted((ROOT / "push").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = _name(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name in known:
                said = {word.arg or "**": ast.unparse(word.value) for word in node.keywords}
                if node.args:
                    said["message"] = ast.unparse(node.args[0])
                yield Raised(f"{path.relative_to(ROOT)}:{node.lineno}", known[name], said)


def builds_itself(kind: type[PushError]) -> bool:
    """Whether a class says in its own constructor what it means."""
    return "__init__" in vars(kind) and kind is not PushError


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
