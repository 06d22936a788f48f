"""Files stay small and are named with nouns of the field (DESIGN.md 4)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 400  # lines
LONGEST_FUNCTION = 50  # lines, without decorators and docstring
SAYS_NOTHING = ("util", "utils", "helper", "helpers", "common", "manager", "misc")


def sources(*folders: str) -> list[Path]:
    """Every Python file below the folders of the repository."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end; what a docstring says costs nothing."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_a_file_is_short() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in sources("push", "tests", "benchmarks")}
    assert [(shown(path), n) for path, n in lines.items() if n > LONGEST_FILE] == []


def test_a_function_is_short() -> None:
    found = [(shown(path), f.name, length(f)) for path in sources("push") for f in functions(parsed(path))]
    assert [f"{path}: {name} has {n} lines" for path, name, n in found if n > LONGEST_FUNCTION] == []


def test_a_name_says_something() -> None:
    for path in sources("push", "tests", "benchmarks"):
        words = {word for part in path.relative_to(ROOT).parts for word in part.removesuffix(".py").split("_")}
        assert words.isdisjoint(SAYS_NOTHING), shown(path)


def test_a_module_says_what_it_owns() -> None:
    for path in sources("push"):
        docstring = ast.get_docstring(parsed(path))
        assert docstring is not None, shown(path)
        assert docstring.splitlines()[0].endswith((".", ":", ";", ",")), f"{shown(path)}: not a sentence"
