from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from push.locks import FileLock


@contextmanager
def _child_with_a_copy(lock: FileLock) -> Iterator[None]:
    """As a child between fork and exec has one, or a runner."""
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock.fd,))
    try:
        yield
    finally:
        child.communicate()


def _is_free(path: Path) -> bool:
    lock = FileLock.take(path)
    if lock:
        lock.close()
    return lock is not None


def test_closed_it_is_the_childs(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock.take(path)
    assert lock is not None
    with _child_with_a_copy(lock):
        lock.close()
        assert not _is_free(path)
    assert _is_free(path)


def test_unlocked_it_is_free_whoever_has_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock.take(path)
    assert lock is not None
    with _child_with_a_copy(lock):
        lock.unlock()
        assert _is_free(path)
        lock.unlock()  # again: it is somebody else's number by now
    assert lock.fd == -1


def test_somebody_elses_lock_is_waited_for_only_so_long(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock.take(path) or FileLock(path, -1) as lock:
        assert lock.fd >= 0
        assert FileLock.take(path, wait_seconds=0.05) is None
    assert _is_free(path)
