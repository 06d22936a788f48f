"""Locks: held over a fork, freed by a death, fair between writers, and never waited for without an end."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from push.errors import TemporaryError
from push.locks import FileLock, WriterLock, is_held


@contextmanager
def _held_elsewhere(path: Path) -> Iterator[None]:
    """Another process holds the flock until the block ends."""
    code = "import fcntl,os,sys; f=os.open(sys.argv[1], os.O_RDWR|os.O_CREAT); fcntl.flock(f, fcntl.LOCK_EX); "
    code += "print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.communicate()


def test_a_lock_is_one_s_until_he_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    lock = FileLock.take(path)
    assert lock is not None
    assert FileLock.take(path) is None
    assert is_held(path)
    lock.close()
    assert not is_held(path)
    again = FileLock.take(path)
    assert again is not None
    again.close()


def test_a_missing_role_file_is_held_by_nobody(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "none")


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "w")
    inside: list[int] = []
    most: list[int] = []

    def write() -> None:
        for _ in range(200):
            with lock.held():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    lock.close()


def test_a_writer_waits_for_another_process(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "w", timeout_seconds=20)
    got = threading.Event()

    def write() -> None:
        with lock.held():
            got.set()

    with _held_elsewhere(tmp_path / "w"):
        thread = threading.Thread(target=write)
        thread.start()
        assert not got.wait(0.2)
    assert got.wait(20)
    thread.join()
    lock.close()


def test_a_holder_that_does_not_let_go_costs_an_error_and_nothing_more(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "w", timeout_seconds=0.2)
    with _held_elsewhere(tmp_path / "w"):
        for _ in range(2):
            with pytest.raises(TemporaryError, match="writer lock") as caught, lock.held():
                pytest.fail("two writers")
            assert caught.value.hint == "push status"
    for thread in threading.enumerate():
        if thread.name == "writer-lock":  # it gets the lock now, and must not keep it
            thread.join(20)
    with lock.held():
        pass
    lock.close()
    probe = os.open(tmp_path / "w", os.O_RDWR)
    fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(probe)


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
