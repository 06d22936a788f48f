"""Wake-up datagrams: one waiter per byte, dead listeners go, long paths move, nothing is promised."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from push.tasks import wake


@pytest.fixture
def listener(home: Path) -> object:
    made = wake.Listener(home, "lane", 10.0)
    yield made
    made.close()


def test_a_ring_before_the_wait_is_kept(home: Path, listener: wake.Listener) -> None:
    assert wake.ring(home, "lane") == 1
    assert listener.wait()


def test_nothing_rung_times_out(home: Path) -> None:
    quiet = wake.Listener(home, "quiet", 0.05)
    assert not quiet.wait()
    assert not quiet.wait_for(0.01)
    quiet.close()


def test_one_byte_wakes_one_of_two_waiters(home: Path) -> None:
    lane = wake.Listener(home, "lane", 0.5)
    woken: list[bool] = []
    threads = [threading.Thread(target=lambda: woken.append(lane.wait())) for _ in range(2)]
    for thread in threads:
        thread.start()
    wake.ring(home, "lane")
    for thread in threads:
        thread.join()
    lane.close()
    assert sorted(woken) == [False, True]


def test_names_are_told_apart_and_every_listener_is_rung(home: Path, listener: wake.Listener) -> None:
    assert wake.ring(home, "la") == 0
    assert wake.ring(home, "lane") == 1


def test_a_full_buffer_counts_as_woken(home: Path, listener: wake.Listener) -> None:
    assert all(wake.ring(home, "lane") == 1 for _ in range(2000))


def test_the_socket_of_a_killed_process_is_removed(home: Path) -> None:
    code = "import sys,os,signal; from pathlib import Path; from push.tasks import wake; "
    code += "wake.Listener(Path(sys.argv[1]), 'lane', 1); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code, str(home)], check=False)
    assert list(home.glob("lane.*"))
    assert wake.ring(home, "lane") == 0
    assert not list(home.glob("lane.*"))


def test_wait_for_ends_when_another_descriptor_is_readable(home: Path, listener: wake.Listener) -> None:
    end, other = os.pipe()
    os.write(other, b"!")
    assert listener.wait_for(10.0, end) is False
    os.close(end)
    os.close(other)


def test_a_long_path_uses_a_private_folder_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    deep = tmp_path / ("x" * 120)
    lane = wake.Listener(deep, "lane", 1.0)
    try:
        assert lane.path.parent != deep
        assert lane.path.parent.stat().st_mode & 0o777 == 0o700
        assert wake.ring(deep, "lane") == 1
    finally:
        lane.close()
        lane.path.parent.rmdir()


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    deep = tmp_path / ("x" * 120)
    wake.socket_folder(deep).chmod(0o755)
    with pytest.raises(PermissionError):
        wake.socket_folder(deep)


def test_ringing_in_a_home_that_does_not_exist_is_nothing(tmp_path: Path) -> None:
    assert wake.ring(tmp_path / "none", "lane") == 0


def test_a_socket_is_of_the_unix_family(listener: wake.Listener) -> None:
    """DESIGN.md 2.10: no port. (`ss` is asked in the integration tests.)"""
    with socket.socket(fileno=os.dup(listener.fileno())) as same:
        assert same.family == socket.AF_UNIX
