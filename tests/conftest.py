"""What every test gets: a place of its own, the shared material, and four guards.

Owns isolation (environment, home, network, processes); does not own fakes, which live beside the tests that use them.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import signal
import socket
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from push.cli import output
from push.errors import PushError
from tests.docs.hints import is_command

ROOT = Path(__file__).resolve().parents[1]

#: Carried by every process that a test starts, however deep: how the guard below finds what was left behind.
MARK = "PUSH_TEST_MARK"

_FOREIGN = ("PUSH_", "TELEGRAM_", "OPENAI_", "ANTHROPIC_", "CLAUDE_", "CODEX_", "PI_", "SENTRY_", "XDG_")

# A loaded machine is no failure of an example; failures are reported with the code that reproduces them.
settings.register_profile("push", deadline=None, print_blob=True)
settings.load_profile("push")


@pytest.fixture
def shared() -> Path:
    """The folder `shared` beside the repository's root. Tests that use it are marked `shared`."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no shared material: {folder} is absent")
    return folder


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh PUSH_HOME with a short path: a Unix socket's may have 103 bytes (macOS), and tmp_path is long."""
    folder = Path(tempfile.mkdtemp(prefix="p", dir="/tmp"))
    monkeypatch.setenv("PUSH_HOME", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty HOME, and none of the owner's keys and settings."""
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""

    def guarded(name: str) -> None:
        real = getattr(socket.socket, name)

        def connect(self: socket.socket, address: object) -> object:
            if self.family in {socket.AF_INET, socket.AF_INET6} and isinstance(address, tuple):
                host = address[0]
                if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
                    raise AssertionError(f"a test connects to {host}: tests are offline")
            return real(self, address)

        monkeypatch.setattr(socket.socket, name, connect)

    guarded("connect")
    guarded("connect_ex")


@pytest.fixture(autouse=True)
def _errors_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a command prints an error without its why or its next command: the source cannot tell of all."""
    real = output.error

    def checked(exc: PushError, *, as_json: bool) -> None:
        assert exc.why, f"{exc.message!r} has no why"
        assert is_command(exc.hint), f"{exc.message!r}: next is no command: {exc.hint!r}"
        real(exc, as_json=as_json)

    monkeypatch.setattr(output, "error", checked)


@pytest.fixture(autouse=True)
def _no_process_left(monkeypatch: pytest.MonkeyPatch, _own_environment: None) -> Iterator[None]:
    """Fail a test that leaves a process behind, and end that process. Needs /proc (Linux)."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    yield
    deadline = time.monotonic() + 2.0  # what is being killed may take a moment to be gone
    while (left := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    if left:
        pytest.fail(f"left behind: {left}")


def _marked(mark: str) -> dict[int, str]:
    """Process id -> command line of the living processes that carry the mark. A zombie carries nothing."""
    found = {}
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                found[int(folder.name)] = b" ".join(words).decode(errors="replace")
        except OSError:
            continue  # ended meanwhile, or another user's
    return found
