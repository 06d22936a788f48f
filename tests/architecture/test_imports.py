"""What a command costs to start is what it imports: two lists, kept short (DESIGN.md 12)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Runs one command line as the installed script does, and leaves the names of all loaded modules behind.
RUN_AND_LIST = """
import atexit, pathlib, sys
before = set(sys.modules)
out = pathlib.Path(sys.argv.pop(1))
atexit.register(lambda: out.write_text("\\n".join(set(sys.modules) - before)))
from push.cli.main import main
sys.exit(main())
"""


def packages_loaded_by(tmp_path: Path, *arguments: str) -> set[str]:
    """The top-level packages that `push ARGUMENTS` imports, without the standard library's."""
    listing = tmp_path / "modules"
    command = [sys.executable, "-c", RUN_AND_LIST, str(listing), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=dict(os.environ))
    assert result.returncode == 0, result.stderr
    return {name.partition(".")[0] for name in listing.read_text().split()} - sys.stdlib_module_names


def test_version_imports_only_click(tmp_path: Path) -> None:
    assert packages_loaded_by(tmp_path, "--version") <= {"click", "push"}


def test_status_imports_nothing_heavy(tmp_path: Path, home: Path) -> None:
    loaded = packages_loaded_by(tmp_path, "status")
    assert "push" in loaded
    assert loaded.isdisjoint({"httpx", "huey", "sentry_sdk", "rich", "croniter"})
