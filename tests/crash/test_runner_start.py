"""What an agent finds when it starts, and what is on disk before it does."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from push.agents import process
from push.agents.process import Recovered, recover
from push.agents.spool import Spool
from tests.agents.rig import Rig, a_rig, python, until

pytestmark = pytest.mark.crash


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with a_rig(tmp_path) as rig:
        yield rig


def test_a_prompt_goes_in_and_an_answer_comes_out(rig: Rig) -> None:
    exited = rig.finish("sh", "-c", "cat; echo oops >&2; exit 3")

    assert (exited.ending, exited.code, exited.errno, exited.truncated, exited.left) == ("exited", 3, None, False, 0)
    assert exited.stdout.read_bytes() == b"hello\n"
    assert exited.stderr.read_bytes() == b"oops\n"
    assert 0 <= exited.duration_ms < 5000


def test_a_death_by_signal_is_a_negative_code(rig: Rig) -> None:
    assert rig.finish("sh", "-c", "kill -9 $$").code == -9


def test_c43_an_agent_that_reads_to_the_end_first_gets_an_end(rig: Rig) -> None:
    prompt = b"x" * 3_000_000
    assert rig.finish("wc", "-c", prompt=prompt, deadline_seconds=10.0).ending == "exited"
    assert rig.output().strip() == b"3000000"


def test_the_spool_is_the_owners_alone(rig: Rig) -> None:
    rig.finish("cat")
    assert rig.spool.dir.stat().st_mode & 0o777 == 0o700
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in rig.spool.dir.iterdir()} == {
        path.name: "0o600" for path in rig.spool.dir.iterdir()
    }


@pytest.mark.parametrize("given", [{}, {"LC_CTYPE": "POSIX"}, {"LC_ALL": "C", "LANG": "xx"}])
def test_the_environment_is_as_given_and_holds_the_runs_mark(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    monkeypatch.setenv("PUSH_SEAMS", "runner.agent_ended=sleep:0")
    env = given | {"PATH": os.environ["PATH"], "ÄNY": "wörd \udcff", "PUSH_TEST_MARK": os.environ["PUSH_TEST_MARK"]}

    rig.finish("env", "-0", env=env | {"PUSH_SEAMS": "x=kill"})

    seen = dict(os.fsdecode(line).split("=", 1) for line in rig.output().split(b"\0") if line)
    assert seen == env | {"PUSH_RUN": str(rig.spool.dir)}


def test_the_agent_holds_neither_the_lock_nor_the_life_pipe(rig: Rig) -> None:
    rig.finish(
        *python("import os; [print(n, os.path.realpath(f'/proc/self/fd/{n}')) for n in os.listdir('/proc/self/fd')]")
    )
    fds = dict(line.split(" ", 1) for line in rig.output().decode().splitlines() if "/proc/" not in line)
    own = {name for name, target in fds.items() if target == str(rig.spool.agent)}
    assert {number: Path(target).name for number, target in fds.items() if number not in own} == {
        "0": "prompt",
        "1": "out",
        "2": "err",
    }
    assert all(int(number) >= 100 for number in own)
    assert len(own) == 1


def test_signals_are_as_a_program_expects_them(rig: Rig) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
    try:
        runner = rig.begin("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGUSR1})
    rig.end(runner)
    masks = {int(line.split()[1], 16) for line in rig.output().splitlines()}
    internal = 0b11 << 31  # 32 and 33 are the C library's own: what make starts by posix_spawn ignores them
    assert {mask & ~internal for mask in masks} == {0}


def test_the_agent_leads_a_group_in_the_runners_session(rig: Rig) -> None:
    exited = rig.finish(*python("import os; print(os.getpid(), os.getpgrp(), os.getsid(0), os.getppid())"))
    pid, group, session, parent = map(int, exited.stdout.read_text().split())
    assert (group, session) == (pid, parent)
    assert session != os.getsid(0)


def test_no_agent_before_its_record_is_on_disk_and_locked(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = rig.folder / "gate"
    monkeypatch.setenv("PUSH_SEAMS", f"runner.agent_recorded=pause:{gate}")
    runner = rig.begin("sh", "-c", "echo ran; echo $$")
    until(Path(f"{gate}.reached").exists)

    pid, start, boot = rig.spool.agent.read_text().split()
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert (start, boot) == (stat[19], Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    assert _is_locked(rig.spool.agent)
    assert rig.output() == b""

    gate.touch()
    rig.end(runner)
    assert rig.output() == f"ran\n{pid}\n".encode()


@pytest.mark.parametrize("program", ["sh", "python"])
def test_the_agents_lock_lives_exactly_as_long_as_the_agent(rig: Rig, program: str) -> None:
    code = f"import os, time; os.system('{rig.sleep} &'); print('ready', flush=True); time.sleep(600)"
    runner = rig.begin(*(python(code) if program == "python" else ("sh", "-c", f"{rig.sleep} & echo ready; wait")))
    rig.ready()
    assert _is_locked(rig.spool.agent)

    os.kill(rig.agent_pid(), signal.SIGKILL)
    assert rig.end(runner).left == 1
    assert not _is_locked(rig.spool.agent)
    rig.end_leftovers(1)


@pytest.mark.parametrize(
    ("content", "mode", "number"),
    [(None, 0, errno.ENOENT), (b"#!/bin/sh\n", 0o644, errno.EACCES), (b"echo hello\n", 0o755, errno.ENOEXEC)],
    ids=["missing", "not executable", "no shebang"],
)
def test_a_program_that_cannot_be_run_says_why(rig: Rig, content: bytes | None, mode: int, number: int) -> None:
    program = rig.folder / "agent"
    if content is not None:
        program.write_bytes(content)
        program.chmod(mode)
    exited = rig.finish(str(program))
    assert (exited.ending, exited.code, exited.errno) == ("not_started", None, number)


def test_a_program_that_is_nowhere_on_a_strange_path_is_missing(rig: Rig) -> None:
    file = rig.folder / "file"
    file.touch()
    assert rig.finish("no-such-agent", env=dict(os.environ, PATH=f"/usr/bin:{file}")).errno == errno.ENOENT


@pytest.mark.parametrize(
    ("argument", "number"), [("x" * 200_000, errno.E2BIG), ("a\0b", errno.EINVAL)], ids=["too long", "nul"]
)
def test_arguments_that_no_program_can_get(rig: Rig, argument: str, number: int) -> None:
    exited = rig.finish("cat", argument)
    assert (exited.ending, exited.errno) == ("not_started", number)


@pytest.mark.parametrize("kind", ["missing", "a file", "a program"])
def test_a_work_dir_that_is_none(rig: Rig, kind: str) -> None:
    place = rig.folder / "work"
    if kind != "missing":
        place.touch(0o700 if kind == "a program" else 0o600)
    exited = rig.finish("cat", cwd=place)
    assert (exited.ending, exited.errno) == ("not_started", errno.ENOTDIR)


def test_a_run_cancelled_before_its_agent_starts_has_no_agent(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = rig.folder / "gate"
    monkeypatch.setenv("PUSH_SEAMS", f"runner.before_gate=pause:{gate}")
    runner = rig.begin("cat")
    until(Path(f"{gate}.reached").exists)
    process.cancel(rig.spool)
    gate.touch()
    exited = rig.end(runner)
    assert (exited.ending, exited.code, exited.errno) == ("cancelled", None, None)
    assert not rig.spool.agent.exists()


def test_when_the_runner_is_gone_its_lock_is(rig: Rig) -> None:
    for _ in range(20):
        runner = rig.begin("true")
        rig.give_up_lock()
        assert runner.wait(None)
        lock = rig.take_lock()
        assert lock is not None
        lock.close()


def test_the_runner_holds_the_lock_while_the_agent_runs(rig: Rig) -> None:
    runner = rig.begin("sh", "-c", f"echo ready; {rig.sleep}")
    rig.ready()
    rig.give_up_lock()
    assert rig.take_lock() is None
    process.cancel(rig.spool)
    rig.end(runner)


def test_a_stop_ends_the_waiting_and_not_the_run(rig: Rig) -> None:
    stop, ring = os.pipe()
    runner = rig.begin("sh", "-c", f"echo ready; {rig.sleep}")
    rig.ready()
    os.write(ring, b"x")
    assert not runner.wait(stop)
    assert process.living_runner(rig.spool)
    process.cancel(rig.spool)
    assert rig.end(runner).ending == "cancelled"
    assert runner.wait(stop), "gone stays gone"
    os.close(stop)
    os.close(ring)


def test_a_second_start_of_the_same_run_finds_an_empty_spool(rig: Rig) -> None:
    rig.finish("sh", "-c", "echo one")
    assert recover(rig.spool) is not Recovered.NEVER_STARTED
    spool = rig.prepare()
    assert recover(spool) is Recovered.NEVER_STARTED
    assert not spool.out.exists()


def test_a_run_id_is_a_name(tmp_path: Path) -> None:
    for name in ("", ".", "..", "a/b", "-x", "a\0", "ä"):
        with pytest.raises(ValueError, match="not a run id"):
            Spool.at(tmp_path, name)


def _is_locked(path: Path) -> bool:
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
