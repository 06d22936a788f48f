"""A real systemd user manager of a test's own, where this machine can run one as a child process.

Owns its cgroup, its private /run and its end; does not own what it is asked (`systemctl`, the real one). systemd wants
a machine that was booted with it, and looks for that at /run/systemd/system: it gets a /run of its own. It wants a
cgroup to itself: it gets one below ours.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_SYSTEMD = next((p for p in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd") if os.access(p, os.X_OK)), "")
#: Mounts are shared among its own namespaces, as on a booted machine: systemd mounts credentials from another one.
_START = (
    'for folder in "$@"; do echo $$ >"$folder/cgroup.procs" || exit; done; '
    "mount --make-rshared / && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && "
    f"exec {_SYSTEMD} --user --log-target=console"
)


class UserManager:
    """It runs until `end`. Whoever has its XDG_RUNTIME_DIR and HOME in the environment speaks to it."""

    def __init__(self, runtime: Path) -> None:
        self.runtime = runtime
        self._log = runtime / "log"
        self._groups = [folder / runtime.name for folder in _hierarchies(every=False)]
        for group in self._groups:
            group.mkdir()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", _START, "sh", *map(str, self._groups)],
                env=os.environ | {"XDG_RUNTIME_DIR": str(runtime)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def is_up(self, seconds: float) -> bool:
        """Whether it answers within that time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            if self.ask("show", "--property=Version").returncode == 0:
                return True
            time.sleep(0.02)
        return False

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `systemctl --user WORDS`."""
        environment = os.environ | {"XDG_RUNTIME_DIR": str(self.runtime)}
        return subprocess.run(
            ["systemctl", "--user", *words], capture_output=True, text=True, env=environment, timeout=90, check=False
        )

    def done(self, *words: str) -> str:
        """As `ask`, which must succeed; what it prints."""
        asked = self.ask(*words)
        assert asked.returncode == 0, f"systemctl --user {words}: {asked.stderr}\n{self.log}"
        return asked.stdout.strip()

    def show(self, unit: str, name: str) -> str:
        """One property of a unit."""
        return self.done("show", f"--property={name}", "--value", unit)

    @property
    def log(self) -> str:
        """What it said so far."""
        return self._log.read_text(errors="replace")

    def processes(self, unit: str) -> set[int]:
        """The processes in the cgroup of a service: those that it started, and whatever they left behind."""
        files = [file for group in self._groups for file in group.rglob(f"{unit}/**/cgroup.procs")]
        return {int(pid) for file in files for pid in file.read_text().split()}

    def end(self) -> set[int]:
        """End it, and return the processes that its services had left, which are killed."""
        self._process.terminate()
        try:
            self._process.wait(90)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        deadline = time.monotonic() + 2.0
        left = self.processes("*")
        while self.processes("*") and time.monotonic() < deadline:
            time.sleep(0.02)
        left &= self.processes("*")
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._remove_groups()
        return left

    def _remove_groups(self) -> None:
        for root in _hierarchies(every=True):
            group = root / self.runtime.name
            folders = sorted((p for p in group.rglob("*") if p.is_dir()), reverse=True) if group.is_dir() else []
            for folder in (*folders, group):
                with suppress(OSError):  # a killed process may need a moment more; an empty group costs nothing
                    folder.rmdir()


def _hierarchies(*, every: bool) -> list[Path]:
    """Where cgroups are mounted: all of them, or those that systemd keeps its processes apart with."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [
        Path(target)
        for _, target, kind, options, *_ in mounts
        if kind == "cgroup2" or (kind == "cgroup" and (every or "name=systemd" in options.split(",")))
    ]


@contextmanager
def user_manager() -> Iterator[UserManager]:
    """One of its own, or the test is skipped. Fails where a service leaves a process behind."""
    if not _SYSTEMD or not shutil.which("systemctl") or not shutil.which("unshare"):
        pytest.skip("no systemd here: apt-get install systemd")
    if os.geteuid() != 0:
        pytest.skip("only root can give systemd a /run of its own")
    runtime = Path(tempfile.mkdtemp(prefix="push-test-", dir="/tmp"))
    try:
        manager = UserManager(runtime)
    except OSError as exc:
        shutil.rmtree(runtime)
        pytest.skip(f"no cgroup can be made here: {exc.strerror}")
    left: set[int] = set()
    try:
        if not manager.is_up(20.0):
            pytest.skip(f"systemd does not start here: {manager.log[-300:]}")
        yield manager
    finally:
        left = manager.end()
        shutil.rmtree(runtime)
    assert not left, f"services left processes behind: {left}"
