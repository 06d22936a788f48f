"""Gateway, runner or both killed in the middle: what goes on, what is left, and what whoever comes next makes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from push.agents import process, tree
from push.agents import spool as spooling
from push.agents.process import Recovered, recover
from push.model.values import Exited
from push.seams import RUNNER_SEAMS
from tests.agents.rig import ROOT, STUBBORN, STUBBORN_SIZE, Rig, a_rig, is_dead, python, until

pytestmark = pytest.mark.crash


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with a_rig(tmp_path) as rig:
        yield rig


def _kill(gateway: subprocess.Popen[bytes]) -> None:
    gateway.kill()
    gateway.wait()


def test_a_killed_gateway_changes_nothing_for_the_run(rig: Rig) -> None:
    gate = rig.folder / "gate"
    gateway = rig.begin_elsewhere("sh", "-c", f"echo ready; while [ ! -e {gate} ]; do sleep 0.02; done; cat")
    rig.ready()
    _kill(gateway)
    assert rig.take_lock() is None, "the runner holds it"
    assert process.living_runner(rig.spool)
    assert spooling.read_result(rig.spool) is None

    stop, ring = os.pipe()
    os.write(ring, b"x")
    assert not process.wait_for_runner(rig.spool, stop), "a stop ends the waiting"
    os.read(stop, 1)
    gate.touch()
    assert process.wait_for_runner(rig.spool, stop)
    rig.lock = rig.take_lock()
    assert rig.lock, "free at once"
    result = recover(rig.spool)
    assert isinstance(result, Exited)
    assert (result.ending, result.code, rig.output()) == ("exited", 0, b"ready\nhello\n")
    os.close(stop)
    os.close(ring)


def test_waiting_without_pidfds_comes_to_the_same(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(tree, "system", tree.ProcFs)
    monkeypatch.setattr(process, "POLL_SECONDS", 0.01)
    gateway = rig.begin_elsewhere("sh", "-c", f"echo ready; {rig.sleep}")
    rig.ready()
    _kill(gateway)
    stop, ring = os.pipe()
    os.write(ring, b"x")
    assert not process.wait_for_runner(rig.spool, stop)
    os.read(stop, 1)
    process.cancel(rig.spool)
    assert process.wait_for_runner(rig.spool, stop)
    result = spooling.read_result(rig.spool)
    assert result
    assert result.ending == "cancelled"
    os.close(stop)
    os.close(ring)


def test_a_runner_that_is_just_beginning_is_waited_for(rig: Rig) -> None:
    rig.prepare()
    rig.lock = rig.take_lock()
    assert rig.lock
    fd = rig.lock.fd
    begun: list[process.RunnerProcess] = []
    launch = rig.launch("sh", "-c", "sleep 0.2; cat")
    late = threading.Timer(0.1, lambda: begun.append(process.start(rig.spool, launch, fd)))
    never, ring = os.pipe()
    late.start()
    assert process.wait_for_runner(rig.spool, never)
    assert spooling.read_result(rig.spool)
    late.join()
    assert begun[0].wait(None)
    os.close(never)
    os.close(ring)


def test_the_deadline_needs_no_gateway(rig: Rig) -> None:
    gateway = rig.begin_elsewhere("sh", "-c", STUBBORN.format(rig.sleep), deadline_seconds=1.0)
    until(lambda: len(rig.living()) == STUBBORN_SIZE)
    _kill(gateway)
    result = until(lambda: spooling.read_result(rig.spool))
    assert result.ending == "timed_out"
    assert rig.living() == []


def test_a_killed_runner_leaves_its_tools_and_recovery_ends_them(rig: Rig) -> None:
    runner = rig.begin("sh", "-c", STUBBORN.format(rig.sleep))
    until(lambda: len(rig.living()) == STUBBORN_SIZE)
    until(rig.spool.tree.exists)
    until(lambda: set(map(str, rig.living())) <= set(rig.spool.tree.read_text().split()))
    os.kill(rig.runner_pid(), signal.SIGKILL)
    assert runner.wait(None)
    assert spooling.read_result(rig.spool) is None
    until(lambda: is_dead(rig.agent_pid()))  # with its runner
    assert len(rig.living()) >= STUBBORN_SIZE - 1, "and nothing else"

    began = time.monotonic()
    assert recover(rig.spool) is Recovered.KILLED
    assert time.monotonic() - began < 2
    assert rig.living() == []
    assert recover(rig.spool) is Recovered.KILLED, "as often as one likes"


def test_both_killed_and_the_next_gateway_cleans_up(rig: Rig) -> None:
    gateway = rig.begin_elsewhere("sh", "-c", STUBBORN.format(rig.sleep))
    until(lambda: len(rig.living()) == STUBBORN_SIZE)
    until(rig.spool.tree.exists)
    until(lambda: set(map(str, rig.living())) <= set(rig.spool.tree.read_text().split()))
    runner = rig.runner_pid()
    _kill(gateway)
    os.kill(runner, signal.SIGKILL)
    until(lambda: is_dead(runner))
    rig.lock = rig.take_lock(seconds=2)
    assert rig.lock
    assert process.living_runner(rig.spool) is None
    stop, ring = os.pipe()
    assert process.wait_for_runner(rig.spool, stop), "nobody to wait for"
    os.close(stop)
    os.close(ring)
    assert recover(rig.spool) is Recovered.KILLED
    assert rig.living() == []


EXPECTED: dict[str, tuple[object, bytes]] = {
    "runner.before_gate": (Recovered.NEVER_STARTED, b""),
    "runner.agent_recorded": (Recovered.KILLED, b""),  # on disk, and never ran
    "runner.agent_started": (Recovered.KILLED, b"ran"),
    "runner.agent_ended": (Recovered.KILLED, b"ran"),
    "runner.before_rename": (Recovered.KILLED, b"ran"),
    "runner.renamed": ("exited", b"ran"),
}


@pytest.mark.parametrize("seam", RUNNER_SEAMS)
def test_a_runner_killed_at_its_seams(rig: Rig, monkeypatch: pytest.MonkeyPatch, seam: str) -> None:
    monkeypatch.setenv("PUSH_SEAMS", f"{seam}=kill")
    runner = rig.begin("sh", "-c", f"printf ran; setsid -f {rig.sleep}; cat")
    assert runner.wait(None)
    monkeypatch.delenv("PUSH_SEAMS")

    expected, printed = EXPECTED[seam]
    found = recover(rig.spool)
    assert (found.ending if isinstance(found, Exited) else found) == expected
    if seam == "runner.agent_started":
        assert printed.startswith(rig.output()[:3])  # it may have been killed before its first word
    else:
        assert rig.output().startswith(printed)
        assert bool(rig.output()) == bool(printed)
    if isinstance(found, Exited):
        rig.end_leftovers(1)
    assert rig.living() == []


def test_a_run_that_could_not_be_found_by_its_records_is_found_by_its_mark(rig: Rig) -> None:
    gateway = rig.begin_elsewhere("sh", "-c", f"setsid -f {rig.sleep}; echo ready; {rig.sleep}")
    rig.ready()
    runner = rig.runner_pid()
    _kill(gateway)
    os.kill(runner, signal.SIGKILL)
    until(lambda: is_dead(runner))
    rig.spool.agent.write_text("12")  # as a disk that was full leaves it
    rig.spool.tree.unlink(missing_ok=True)
    assert recover(rig.spool) is Recovered.KILLED
    assert rig.living() == []


def test_no_spool_at_all_proves_nothing(rig: Rig) -> None:
    gateway = rig.begin_elsewhere("sh", "-c", f"echo ready; setsid -f {rig.sleep}; {rig.sleep}")
    until(lambda: len(rig.living()) == 2)
    runner = rig.runner_pid()
    _kill(gateway)
    os.kill(runner, signal.SIGKILL)
    until(lambda: is_dead(runner))
    spooling.remove(rig.spool)
    assert recover(rig.spool) is Recovered.KILLED
    assert rig.living() == []


@pytest.mark.parametrize("content", ["", "{", '{"ending": "success", "code": 0, "errno": null}', "[]", '{"code": 1}'])
def test_a_result_that_is_none_is_no_result(rig: Rig, content: str) -> None:
    spool = rig.prepare()
    spool.agent.write_text("")
    spool.result.write_text(content)
    assert spooling.read_result(spool) is None
    assert recover(spool) is Recovered.KILLED


def test_a_zombie_is_dead(rig: Rig) -> None:
    spool = rig.prepare()
    child = subprocess.Popen(["sh", "-c", "exit 0"], env={"PUSH_RUN": str(spool.dir)})
    until(lambda: is_dead(child.pid))
    start = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    spool.agent.write_text(f"{child.pid} {start} {tree.system().boot()}\n")
    assert recover(spool) is Recovered.KILLED
    child.wait()


def test_what_cannot_be_killed_is_said(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's lock that somebody holds is a living agent, though no record names it."""
    monkeypatch.setattr(process, "KILL_SECONDS", 0.2)
    spool = rig.prepare()
    spool.agent.write_text("")
    take = f"f = open({str(spool.agent)!r}, 'r+'); fcntl.lockf(f, 2)"
    code = f"import fcntl, sys; {take}; print(flush=True); sys.stdin.read()"
    holder = subprocess.Popen(python(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout
    holder.stdout.read(1)
    assert recover(spool) is Recovered.UNKILLABLE
    holder.communicate()
    assert recover(spool) is Recovered.KILLED


def test_the_groups_number_alone_is_no_proof(rig: Rig) -> None:
    """The agent is dead, and a stranger's group has its number now."""
    stranger = subprocess.Popen(rig.sleep.split(), start_new_session=True)
    spool = rig.prepare()
    spool.agent.write_text(f"{stranger.pid} 1 {tree.system().boot()}\n")
    assert recover(spool) is Recovered.KILLED
    assert not is_dead(stranger.pid)
    stranger.kill()
    stranger.wait()


def test_one_with_a_scrubbed_environment_is_known_by_where_it_prints(rig: Rig) -> None:
    spool = rig.prepare()
    spool.agent.write_text("")
    with spool.err.open("wb") as err:
        tool = subprocess.Popen(rig.sleep.split(), env={}, stderr=err)
    assert recover(spool) is Recovered.KILLED
    assert tool.wait() == -signal.SIGKILL


@pytest.mark.parametrize("record", ["agent", "runner"])
def test_one_that_only_the_record_knows(rig: Rig, record: str) -> None:
    """No mark, no parent, no group of ours; and a later process of a pid is not the one that was recorded."""
    spool = rig.prepare()
    known, stranger = (subprocess.Popen(rig.sleep.split(), env={}, start_new_session=True) for _ in range(2))
    start = Path(f"/proc/{known.pid}/stat").read_text().rpartition(")")[2].split()[19]
    spool.tree.write_text(f"{known.pid} {start}\n{stranger.pid} 1\n1")
    spool.agent.write_text("")
    (spool.agent if record == "agent" else spool.runner).write_text(f"1 1 {tree.system().boot()}\n")
    assert recover(spool) is Recovered.KILLED
    assert known.wait() == -signal.SIGKILL
    assert not is_dead(stranger.pid)
    stranger.kill()
    stranger.wait()


def test_one_that_only_its_parent_makes_known(rig: Rig) -> None:
    spool = rig.prepare()
    spool.agent.write_text("")
    code = f"env -i setsid sh -c '{rig.sleep} & wait' >/dev/null 2>&1 & exec {rig.sleep}"
    parent = subprocess.Popen(["sh", "-c", code], env=dict(os.environ, PUSH_RUN=str(spool.dir)))
    until(lambda: len(rig.living()) == 2)
    assert recover(spool) is Recovered.KILLED
    parent.wait()
    assert rig.living() == []


def test_a_member_of_the_group_with_a_scrubbed_environment_goes_with_the_group(rig: Rig) -> None:
    """Never recorded, no mark, no parent: but in the group of one that is known."""
    spool = rig.prepare()
    code = f"env -i sh -c '{rig.sleep} &'; exec {rig.sleep}"
    agent = subprocess.Popen(["sh", "-c", code], start_new_session=True)
    until(lambda: len(rig.living()) == 2)
    start = Path(f"/proc/{agent.pid}/stat").read_text().rpartition(")")[2].split()[19]
    spool.agent.write_text(f"{agent.pid} {start} {tree.system().boot()}\n")
    assert recover(spool) is Recovered.KILLED
    agent.wait()
    assert rig.living() == []


def test_a_gateway_that_an_agent_started_spares_itself(rig: Rig) -> None:
    spool = rig.prepare()
    spool.agent.write_text("")
    code = f"""
import subprocess
from pathlib import Path
from push.agents import process
from push.agents.spool import Spool
print(process.recover(Spool(Path({str(spool.dir)!r}))))
"""
    run = subprocess.run(
        python(code), env=dict(os.environ, PUSH_RUN=str(spool.dir)), cwd=ROOT, capture_output=True, check=True
    )
    assert run.stdout == b"Recovered.KILLED\n"


def test_an_agent_is_told_from_an_owner(rig: Rig) -> None:
    code = f"""
import json
from pathlib import Path
from push.agents.process import caller_is_agent
print(json.dumps([caller_is_agent(Path({str(rig.root)!r})), caller_is_agent(Path("/tmp/another"))]))
"""
    rig.finish(*python(code), cwd=ROOT)
    assert json.loads(rig.output()) == [True, False]
    rig.finish("env", "-i", f"PUSH_TEST_MARK={os.environ['PUSH_TEST_MARK']}", *python(code), cwd=ROOT)
    assert json.loads(rig.output()) == [True, False], "by its ancestors, whatever its environment"
    rig.prepare()
    owner = subprocess.run(python(code), capture_output=True, check=True, cwd=ROOT)
    assert json.loads(owner.stdout) == [False, False]
