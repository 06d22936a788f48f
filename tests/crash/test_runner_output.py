"""What an agent prints, however much, whatever it is, whoever still holds it."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from push.agents import process
from push.agents import spool as spooling
from push.agents.process import Recovered, recover
from push.model.values import Exited
from tests.agents.rig import Rig, a_rig, is_dead, python, until

pytestmark = pytest.mark.crash
MB = 1_000_000


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with a_rig(tmp_path) as rig:
        yield rig


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Rig]:
    """A rig on a file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("only root can mount a small disk")
    with a_rig(folder) as rig:
        rig.free_bytes = 0
        yield rig
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("prefix", [None, b"{"], ids=["straight", "filtered"])
def test_c46_long_lines_invalid_text_and_loud_errors_pass_untouched(rig: Rig, prefix: bytes | None) -> None:
    code = """
import sys
sys.stderr.buffer.write(b"e" * 10_000_000)
sys.stdout.buffer.write(b"x" * 70_000 + b"\\n" + b"y" * 5_000_000 + b"\\n" + b"\\xff\\xfe\\x00 no newline")
"""
    exited = rig.finish(*python(code), drop_prefix=prefix)
    assert (exited.ending, exited.truncated) == ("exited", False)
    assert rig.output() == b"x" * 70_000 + b"\n" + b"y" * (5 * MB) + b"\n" + b"\xff\xfe\x00 no newline"
    assert exited.stderr.stat().st_size == 10 * MB


def test_c45_a_detached_process_that_holds_standard_output_delays_nothing(rig: Rig) -> None:
    began = time.monotonic()
    exited = rig.finish("sh", "-c", f"setsid -f {rig.sleep}; {rig.sleep} & echo answer")
    assert time.monotonic() - began < 2
    assert (exited.ending, exited.code, rig.output()) == ("exited", 0, b"answer\n")
    assert exited.left == 2
    rig.end_leftovers(2)  # what a normal end leaves behind is its owner's


def test_c45_nor_does_one_that_holds_the_filters_pipe(rig: Rig) -> None:
    exited = rig.finish("sh", "-c", f"{rig.sleep} & echo noise; echo answer", drop_prefix=b"noise")
    assert (exited.ending, rig.output()) == ("exited", b"answer\n")
    rig.end_leftovers(1)


def test_nor_one_that_goes_on_printing_into_it(rig: Rig) -> None:
    assert rig.finish("sh", "-c", "yes & echo answer", drop_prefix=b"y").ending == "exited"
    assert rig.output() == b"answer\n"  # `yes` dies of the closed pipe


@pytest.mark.parametrize("stream", [1, 2])
def test_endless_output_is_stopped_and_cut_at_the_cap(rig: Rig, stream: int) -> None:
    exited = rig.finish("sh", "-c", f"yes >&{stream}", output_cap=3 * MB)
    assert (exited.ending, exited.truncated) == ("output_limit", True)
    assert (exited.stdout, exited.stderr)[stream - 1].stat().st_size == 3 * MB


def test_an_agent_that_ignores_sigterm_gets_no_grace_to_fill_the_disk(rig: Rig) -> None:
    began = time.monotonic()
    exited = rig.finish("sh", "-c", "trap '' TERM; yes", output_cap=MB, grace_seconds=20.0)
    assert exited.ending == "output_limit"
    assert time.monotonic() - began < 5


def test_nor_one_that_begins_to_when_it_is_told_to_end(rig: Rig) -> None:
    runner = rig.begin("sh", "-c", f"trap yes TERM; {rig.sleep} & wait", output_cap=MB, grace_seconds=20.0)
    until(rig.living)
    began = time.monotonic()
    process.cancel(rig.spool)
    exited = rig.end(runner)
    assert (exited.ending, exited.truncated, exited.stdout.stat().st_size) == ("cancelled", True, MB)
    assert time.monotonic() - began < 15


@pytest.fixture
def unwatched(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Exited]:
    """Run an agent to its end while the runner looks away."""

    def run(*argv: str, **changes: Any) -> Exited:
        gate = rig.folder / "gate"
        monkeypatch.setenv("PUSH_SEAMS", f"runner.agent_started=pause:{gate}")
        runner = rig.begin(*argv, **changes)
        until(Path(f"{gate}.reached").exists)
        until(lambda: is_dead(rig.agent_pid()))
        gate.touch()
        return rig.end(runner)

    return run


def test_100_mb_that_were_printed_before_anybody_looked_are_too_much_as_well(unwatched: Callable[..., Exited]) -> None:
    exited = unwatched("head", "-c", str(100 * MB), "/dev/zero")
    assert (exited.ending, exited.code, exited.truncated) == ("output_limit", 0, True)
    assert exited.stdout.stat().st_size == 64 << 20


def test_all_that_was_in_the_pipe_when_the_agent_ended_is_kept(unwatched: Callable[..., Exited]) -> None:
    code = "import fcntl, os; fcntl.fcntl(1, 1031, 1 << 20); os.write(1, b'y' * 1_000_000 + b'\\nnoi')"
    exited = unwatched(*python(code), drop_prefix=b"noise")
    assert exited.stdout.read_bytes() == b"y" * MB + b"\nnoi"


def test_what_the_filter_drops_does_not_count(rig: Rig) -> None:
    code = "import sys\nfor _ in range(200): sys.stdout.write('noise' + 'x' * 100_000 + '\\n')\nprint('answer')"
    exited = rig.finish(*python(code), drop_prefix=b"noise", output_cap=MB)
    assert (exited.ending, rig.output()) == ("exited", b"answer\n")


def test_a_line_of_any_length_takes_no_memory(rig: Rig) -> None:
    code = """
import sys, time
for _ in range(300): sys.stdout.write('k' * 1_000_000)
sys.stdout.write('\\nnoise')
for _ in range(300): sys.stdout.write('x' * 1_000_000)
print(flush=True)
print('ready', file=sys.stderr, flush=True)
sys.stdin.read(); time.sleep(600)
"""
    runner = rig.begin(*python(code), drop_prefix=b"noise", output_cap=400 * MB)
    until(lambda: b"ready" in rig.spool.err.read_bytes(), 60)
    until(lambda: rig.spool.out.stat().st_size == 300 * MB + 1)
    status = Path(f"/proc/{rig.runner_pid()}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) < 30_000  # kB
    os.kill(rig.agent_pid(), 9)
    rig.end(runner)


def test_the_result_is_written_on_a_disk_that_the_agent_filled(small_disk: Rig) -> None:
    runner = small_disk.begin("sh", "-c", "cat /dev/zero; cp /dev/zero more; exit 7")
    exited = small_disk.end(runner)
    assert (exited.ending, exited.code) == ("exited", 7)
    assert b"No space" in exited.stderr.read_bytes() or exited.stderr.stat().st_size == 0
    assert os.statvfs(small_disk.folder).f_bavail == 0


def test_a_full_disk_ends_a_filtered_run(small_disk: Rig) -> None:
    exited = small_disk.end(small_disk.begin("yes", drop_prefix=b"noise"))
    assert (exited.ending, exited.truncated) == ("output_limit", True)


def test_a_run_can_be_cancelled_on_a_full_disk(small_disk: Rig) -> None:
    runner = small_disk.begin("sh", "-c", f"cat /dev/zero; {small_disk.sleep}")
    until(lambda: len(small_disk.living()) == 1)
    process.cancel(small_disk.spool)
    assert small_disk.end(runner).ending == "cancelled"


def test_no_agent_starts_when_its_record_has_no_room(small_disk: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = small_disk.folder.parent / "gate"
    monkeypatch.setenv("PUSH_SEAMS", f"runner.before_gate=pause:{gate}")
    runner = small_disk.begin("cat")
    until(Path(f"{gate}.reached").exists)
    _fill(small_disk.folder / "fill")
    gate.touch()
    exited = small_disk.end(runner)
    assert (exited.ending, exited.errno) == ("not_started", errno.ENOSPC)
    assert small_disk.output() == b""


def test_a_result_that_cannot_be_written_is_an_interruption(rig: Rig) -> None:
    runner = rig.begin("sh", "-c", f"rm {rig.spool.dir}/result.tmp; mkdir {rig.spool.dir}/result.tmp; echo answer")
    assert runner.wait(None)
    assert spooling.read_result(rig.spool) is None
    assert recover(rig.spool) is Recovered.KILLED


def test_nothing_is_prepared_on_a_disk_without_room(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space") as caught:
        spooling.prepare(tmp_path, "t1-1", prompt=b"x", instructions="x", free_bytes=1 << 60)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_the_runner_imports_next_to_nothing() -> None:
    code = process._BOOT.replace("main(sys.argv[2:])", "print(*sys.modules)")
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", code, process._ROOT], capture_output=True, check=True)
    bare = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import os, sys; print(*sys.modules)"], capture_output=True, check=True
    )
    assert set(loaded.stdout.decode().split()) - set(bare.stdout.decode().split()) == {
        *("errno", "fcntl", "select"),
        *("push", "push.agents", "push.agents.runner", "push.agents.family", "push.agents.output", "push.agents.tree"),
    }


def _fill(path: Path) -> None:
    """Take all the room that the disk has."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(fd, bytes(4096))
    os.close(fd)
