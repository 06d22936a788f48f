"""The layers of DESIGN.md 4 hold, and the contracts that say so bite."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(LINT_IMPORTS), "--no-logo", "--no-cache"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources once more, to break."""
    shutil.copytree(ROOT / "push", tmp_path / "push", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_imports_only_go_down() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("model/values.py", "import push.ledger"),
        ("errors.py", "import push.model"),
        ("agents/registry.py", "import push.ledger"),
        ("agents/registry.py", "import push.providers"),
        ("gateway/turns.py", "import huey"),
        ("delivery/__init__.py", "import peewee"),
        ("state.py", "import sqlite3"),
        ("somewhere.py", "'A module of no layer.'"),
    ],
)
def test_a_forbidden_import_is_found(copy: Path, module: str, line: str) -> None:
    with (copy / "push" / module).open("a") as file:
        file.write(f"\n{line}\n")
    result = lint_imports(copy)
    assert result.returncode != 0
    assert "BROKEN" in result.stdout
