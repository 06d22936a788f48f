"""The whole gateway with the real claude, codex and pi: sessions resumed, recovered, rotated, harvested."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.clis import NAMES, Model, World, find, model_server, world

pytestmark = [pytest.mark.e2e, pytest.mark.shared, pytest.mark.slow]

_CONFIG = """\
channels = ["local"]
agent = "{name}"
assistant_root = "{root}"
run_timeout = "60s"
"""


class Gateway:
    """One home whose agent is a real CLI; `start` may be called again after `kill`."""

    def __init__(self, home: Path, cli: World, model: Model) -> None:
        self.home, self.cli, self.model = home, cli, model
        self.environment = cli.environment | {
            "PUSH_HOME": str(home),
            "USER": "ann",
            "FAKE_KEY": "sk-fake",
        }
        self.soul("You are the first SOUL.")
        (home / "config.toml").write_text(_CONFIG.format(name=cli.name, root=cli.work_dir))
        self._process: subprocess.Popen[bytes] | None = None

    def soul(self, text: str) -> None:
        (self.cli.work_dir / "SOUL.md").write_text(text)

    def start(self) -> None:
        command = [sys.executable, "-m", "push", "run"]
        log = (self.home / "stderr").open("wb")
        self._process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stderr=log)
        log.close()
        _until(lambda: b"Push is" in (self.home / "stderr").read_bytes())

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(30) == 0
            self._process = None

    def chat(self, *words: str) -> str:
        """What `push chat` printed."""
        command = [sys.executable, "-m", "push", "chat", *words]
        done = subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
        return done.stdout.decode().strip()

    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in (self.home / "audit.jsonl").read_text().splitlines()]

    def verify(self) -> None:
        command = [sys.executable, "-m", "push", "verify"]
        done = subprocess.run(command, env=self.environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


@pytest.fixture(params=NAMES)
def gateway(request: pytest.FixtureRequest, home: Path, tmp_path: Path, shared: Path) -> Iterator[Gateway]:
    name = request.param
    if find(name) is None:
        pytest.skip(f"{name} is not installed")
    with model_server(shared, tmp_path) as model:
        made = Gateway(home, world(name, tmp_path / "cli", model.url), model)
        made.environment |= {key: os.environ[key] for key in ("PUSH_TEST_MARK",) if key in os.environ}
        made.start()
        yield made
        made.stop()
        made.verify()
        assert list((home / "spool").iterdir()) == []


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_second_message_resumes_the_session(gateway: Gateway) -> None:
    assert gateway.chat("hello") == "turn 1: hello"
    assert gateway.chat("again") == "turn 2: again"
    assert "backend_session_missing" not in gateway.events()


def test_c36_a_deleted_session_is_recovered_with_history(gateway: Gateway) -> None:
    gateway.chat("the code word is marigold")
    for file in gateway.cli.sessions():
        file.unlink()
    if gateway.cli.name == "codex":  # it keeps an index of its sessions beside them
        for leftover in Path(gateway.cli.environment["CODEX_HOME"]).glob("*.sqlite*"):
            with suppress(FileNotFoundError):
                leftover.unlink()
    answer = gateway.chat("what was it?")
    assert answer.startswith("turn 1: ")
    assert "marigold" in answer
    assert answer.endswith("what was it?")
    assert gateway.events().count("backend_session_missing") == 1
    assert gateway.chat("and now").startswith("turn 2: and now")


def test_a_changed_soul_reaches_the_next_turn(gateway: Gateway) -> None:
    assert "the first SOUL" in gateway.chat("[[fake:system]]")
    gateway.soul("You are the second SOUL.")
    answer = gateway.chat("[[fake:system]]")
    assert "the second SOUL" in answer
    assert "the first SOUL" not in answer


def test_a_run_that_outlives_the_gateway_is_harvested_and_not_repeated(gateway: Gateway) -> None:
    gateway.chat("hello")
    before = len(gateway.model.requests())
    gateway.chat("--no-wait", "[[fake:slow 2]] take your time")
    _until(lambda: len(gateway.model.requests()) > before)
    gateway.kill()
    gateway.start()
    assert gateway.chat("are you there?").splitlines() == [
        "turn 2: [[fake:slow 2]] take your time",
        "turn 3: are you there?",
    ]
    asked = [request["user"] for request in gateway.model.requests()[before:]]
    assert sum("take your time" in text for text in asked) == 1


def test_a_message_that_looks_like_a_command_line_reaches_the_model(gateway: Gateway) -> None:
    secret = Path("/etc/hostname").read_text().strip()
    for number, text in enumerate(("--help", "/compact", "@/etc/hostname", "resume"), start=1):
        assert gateway.chat("--", text).startswith(f"turn {number}: ")
        request = gateway.model.requests()[-1]
        assert text.lstrip("@/") in request["user"]
        assert not text.startswith("@") or f"\n{secret}\n" not in request["user"]


def test_what_the_model_service_says_in_anger_is_not_shown(gateway: Gateway) -> None:
    command = [sys.executable, "-m", "push", "chat", "[[fake:error 500]]"]
    done = subprocess.run(
        command, env=gateway.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert done.stdout.decode().startswith("⚠️ ")
    assert "127.0.0.1" not in done.stdout.decode() + done.stderr.decode()
