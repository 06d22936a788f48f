"""Whole lines, from several processes, through rotation, stopped neighbours and a full disk."""

from __future__ import annotations

import fcntl
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from push import appendlog
from push.appendlog import AppendFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "logs" / "x.log"


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_lines_are_appended_to_a_private_file_in_a_private_folder(path: Path) -> None:
    file = AppendFile(path)
    file.write("one")
    file.write("zwei ä \udcff")
    file.close()
    file.write("three")
    file.close()
    assert lines(path) == ["one", "zwei ä \\udcff", "three"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_line_is_one_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    real = os.write

    def write(fd: int, data: bytes) -> int:
        writes.append(data)
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    file = AppendFile(path)
    file.write("x" * 100_000)
    file.close()
    assert writes == [b"x" * 100_000 + b"\n"]


def test_rotation_keeps_so_many(path: Path) -> None:
    file = AppendFile(path, max_bytes=20, keep=2)
    for n in range(7):
        file.write(f"line {n} 90")  # ten bytes with the newline: two fit
    file.close()
    assert sorted(p.name for p in path.parent.iterdir()) == ["x.log", "x.log.1", "x.log.2"]
    assert lines(path.with_name("x.log.2")) == ["line 2 90", "line 3 90"]
    assert lines(path.with_name("x.log.1")) == ["line 4 90", "line 5 90"]
    assert lines(path) == ["line 6 90"]


def test_a_line_longer_than_the_limit_is_written_once_and_whole(path: Path) -> None:
    file = AppendFile(path, max_bytes=10, keep=1)
    file.write("y" * 50)
    file.close()
    assert [p.name for p in path.parent.iterdir()] == ["x.log"]
    assert lines(path) == ["y" * 50]


def test_it_follows_the_name_when_somebody_else_rotated_or_removed_the_file(path: Path) -> None:
    file = AppendFile(path)
    file.write("a")
    path.rename(path.with_name("x.log.1"))
    file.write("b")
    assert lines(path) == ["b"]
    path.unlink()
    file.write("c")
    file.close()
    assert lines(path) == ["c"]
    assert lines(path.with_name("x.log.1")) == ["a"]


def test_a_torn_last_line_does_not_take_the_next_along(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"torn": ')
    file = AppendFile(path)
    file.write("whole")
    file.write("next")
    file.close()
    assert lines(path) == ['{"torn": ', "whole", "next"]


def test_a_stopped_holder_of_the_lock_delays_a_line_and_does_not_keep_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appendlog, "_LOCK_SECONDS", 0.05)
    file = AppendFile(path, max_bytes=4, keep=1)
    file.write("one")
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        file.write("two")
        assert lines(path) == ["one", "two"]  # not rotated: that needs the lock
    file.write("three")
    file.close()
    assert lines(path) == ["three"]


_LIMITED = """
import resource, sys
from pathlib import Path
from push.appendlog import AppendFile
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = AppendFile(Path(sys.argv[1]))
file.write("fits")
resource.setrlimit(resource.RLIMIT_FSIZE, (9, resource.RLIM_INFINITY))
try:
    file.write("does not fit")
except OSError as exc:
    print(exc.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.write("again")
"""


def test_a_line_that_fits_only_in_part_is_an_error_and_leaves_nothing(path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "28\n"
    assert lines(path) == ["fits", "again"]


_MANY = """
import sys, threading
from pathlib import Path
from push.appendlog import AppendFile
file = AppendFile(Path(sys.argv[1]), max_bytes=1000, keep=100)
def work(thread):
    for n in range(50):
        file.write(f"{sys.argv[2]} {thread} {n} " + "z" * (n % 40))
threads = [threading.Thread(target=work, args=(t,)) for t in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_nothing_is_lost_or_torn_between_processes_and_threads_that_rotate(path: Path) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", _MANY, str(path), str(p)]) for p in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    files = list(path.parent.iterdir())
    assert len(files) > 10
    found = sorted(line for file in files for line in lines(file))
    assert found == sorted(f"{p} {t} {n} " + "z" * (n % 40) for p in range(3) for t in range(3) for n in range(50))
    assert all(file.stat().st_size <= 1000 for file in files)
