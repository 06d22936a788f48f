"""The real agent CLIs against the scripted model server: where they are, and the private world each of them gets.

Owns their configuration files and environment; does not own what the tests do with them. The CLIs get no flags here:
Push adds none either, so provider and model stand where an owner would put them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("claude", "codex", "pi")

_CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[features]
unbounded_connection_retries = false
"""


def find(name: str) -> Path | None:
    """The CLI's program: on PATH, else in the repository's `.clis`, where CI installs them."""
    found = shutil.which(name) or shutil.which(name, path=str(ROOT / ".clis/node_modules/.bin"))
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class World:
    """A CLI with a home of its own. `environment` is complete: nothing of the test's own shows through but PATH."""

    name: str
    program: Path
    work_dir: Path
    environment: dict[str, str]

    def sessions(self) -> list[Path]:
        """The files in which the CLI keeps its conversations."""
        kept = {"claude": ".claude/projects", "codex": ".codex/sessions", "pi": ".pi/agent/sessions"}[self.name]
        return sorted((Path(self.environment["HOME"]) / kept).rglob("*.jsonl"))


def world(name: str, folder: Path, url: str, *, key: str = "sk-fake") -> World:
    """Make `folder` the private world of a CLI that talks to the model server at `url`."""
    program = find(name)
    assert program is not None, f"{name} is not installed"
    home, work_dir, tmp = folder / "home", folder / "work", folder / "tmp"
    for path in (home, work_dir, tmp):
        path.mkdir(parents=True)
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "TMPDIR": str(tmp),  # beside CODEX_HOME, not above it: codex warns on every run otherwise
        "LANG": "C.UTF-8",
        **{name: value for name, value in os.environ.items() if name == "PUSH_TEST_MARK"},
        **_CONFIGURE[name](home, url, key),
    }
    return World(name, program, work_dir, environment)


def _claude(_home: Path, url: str, key: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
    }


def _codex(home: Path, url: str, key: str) -> dict[str, str]:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(_CODEX_CONFIG.format(url=url))
    return {"CODEX_HOME": str(folder), "FAKE_KEY": key}


def _pi(home: Path, url: str, key: str) -> dict[str, str]:
    folder = home / ".pi/agent"
    folder.mkdir(parents=True)
    model = {"id": "fake-model", "input": ["text"], "contextWindow": 200_000, "maxTokens": 32_000}
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "FAKE_KEY", "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    settings = {"defaultProvider": "fake", "defaultModel": "fake-model", "retry": {"enabled": False}}
    (folder / "settings.json").write_text(json.dumps(settings))
    return {"PI_CODING_AGENT_DIR": str(folder), "PI_OFFLINE": "1", "FAKE_KEY": key}


_CONFIGURE = {"claude": _claude, "codex": _codex, "pi": _pi}


@dataclass(frozen=True, slots=True)
class Model:
    """The scripted model server of ../shared, in a process of its own."""

    url: str

    def requests(self) -> list[dict[str, Any]]:
        """Every model request that it saw, oldest first."""
        with urllib.request.urlopen(f"{self.url}/__requests", timeout=10) as answer:
            seen: list[dict[str, Any]] = json.load(answer)
        return [request for request in seen if request.get("kind") == "model"]


@contextmanager
def model_server(shared: Path, folder: Path) -> Iterator[Model]:
    """Run the model server for as long as the block lasts."""
    port_file = folder / "model.port"
    program = [sys.executable, "-I", str(shared / "agents/fake_llm.py"), "--port-file", str(port_file)]
    process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not port_file.exists():
            assert process.poll() is None, "the model server ended"
            assert time.monotonic() < deadline, "the model server did not start"
            time.sleep(0.01)
        yield Model(f"http://127.0.0.1:{port_file.read_text()}")
    finally:
        process.terminate()
        process.wait(timeout=10)
