"""Wake-up datagrams between the processes of one home. A hint, never a promise: the sweep guarantees progress.

Each listener binds `run/<name>.<pid>`; a bell sends one byte to every listener of that name. The kernel keeps the
byte while the listener is busy. Does not carry anything.
"""

from __future__ import annotations

import errno
import hashlib
import os
import select
import socket
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

from push.paths import make_private

_SUN_PATH_BYTES = 103  # macOS; Linux has room for 107
_NAME_BYTES = 40  # the longest of ours: /terminal.<desk>.<token>.<pid>


def socket_folder(run_dir: Path) -> Path:
    """Where the sockets of a home are: `run_dir`, or a private folder in TMPDIR where its path is too long for one."""
    if len(os.fsencode(run_dir)) + _NAME_BYTES <= _SUN_PATH_BYTES:
        return run_dir
    digest = hashlib.sha256(os.fsencode(run_dir)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"push-{os.getuid()}-{digest}"
    make_private(folder)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "the socket folder belongs to somebody else", str(folder))
    return folder


class Listener:
    """One wake-up socket; several threads may wait on it, each byte wakes one."""

    def __init__(self, run_dir: Path, name: str, timeout_seconds: float) -> None:
        folder = socket_folder(run_dir)
        make_private(folder)
        self.path = folder / f"{name}.{os.getpid()}"
        self.path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self._inode = self.path.stat().st_ino
        # SO_RCVTIMEO and not settimeout: a blocking recv wakes one thread for each byte
        timeout = struct.pack("ll", int(timeout_seconds), int(timeout_seconds % 1 * 1_000_000))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)

    def fileno(self) -> int:
        """The descriptor, for `select.poll`."""
        return self._socket.fileno()

    def wait(self) -> bool:
        """Block until a bell rings (True), the timeout passes, or there will be none any more (False)."""
        try:
            return bool(self._socket.recv(1))
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return False  # closed by `close`

    def wait_for(self, seconds: float, *others: int) -> bool:
        """Wait up to `seconds` for a bell, or until one of the descriptors `others` is readable; True for a bell."""
        poller = select.poll()
        for descriptor in (self.fileno(), *others):
            poller.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poller.poll(max(seconds, 0) * 1000)}
        if self.fileno() not in ready:
            return False
        self._drain()
        return True

    def _drain(self) -> None:
        try:
            while True:
                self._socket.recv(1, socket.MSG_DONTWAIT)
        except OSError:
            return

    def ring_self(self) -> None:
        """Wake one waiter of this very socket."""
        ring_socket(self.path)

    def shut(self) -> None:
        """Wake all who wait in `wait`, and who will. Not everywhere: on macOS each needs a bell."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Remove the socket; a later listener of the same name keeps its own. `shut` it first where others wait."""
        with suppress(FileNotFoundError):
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()
        self._socket.close()


def ring(run_dir: Path, name: str) -> int:
    """Wake every listener of `name`; dead ones are removed. Returns how many live."""
    prefix = f"{name}."
    alive = 0
    try:
        entries = [entry.path for entry in os.scandir(socket_folder(run_dir)) if entry.name.startswith(prefix)]
    except FileNotFoundError:
        return 0
    for entry in entries:
        alive += ring_socket(Path(entry))
    return alive


def is_alive(run_dir: Path, name: str) -> bool:
    """Whether a listener of exactly this name lives. It is woken by the question."""
    return ring(run_dir, name) > 0


def ring_socket(path: Path) -> bool:
    """Send one byte to a listener; returns whether it lives."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        try:
            sender.sendto(b"!", str(path))
        except (BlockingIOError, InterruptedError):
            return True  # its buffer is full: it has wake-ups enough
        except OSError as exc:
            if exc.errno == errno.ENOBUFS:  # macOS says so instead of EAGAIN
                return True
            if exc.errno == errno.ECONNREFUSED:
                path.unlink(missing_ok=True)
            return False
    return True
