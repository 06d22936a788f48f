"""Ending a run: at its deadline, for a person, for a shutdown; the whole tree, and nobody else."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from push.agents import process, tree
from push.agents.process import RunnerProcess
from push.model.values import Exited
from tests.agents.rig import GRACE, STUBBORN, STUBBORN_SIZE, Rig, a_rig, is_dead, python, until

pytestmark = pytest.mark.crash

#: What macOS has: `ps`, and neither orphans that come back nor a death with the parent.
_AS_ON_MACOS = """
import sys; sys.path.append(sys.argv[1])
from push.agents import family, tree
tree.system = tree.Ps
family._prctl = lambda: lambda *_: -1
from push.agents.runner import main; main(sys.argv[2:])
"""

#: A runner that looks at nothing by itself.
_PATIENT = """
import sys; sys.path.append(sys.argv[1])
from push.agents import runner
runner.TICK = runner.FIRST_TICK = 600.0
{}"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with a_rig(tmp_path) as rig:
        yield rig


def _nothing(_rig: Rig) -> None:
    return


WAYS: list[tuple[str, Callable[[Rig], None], dict[str, Any]]] = [
    ("timed_out", _nothing, {"deadline_seconds": 1.0}),
    ("cancelled", lambda rig: process.cancel(rig.spool), {}),
    ("terminated", lambda rig: process.terminate(rig.spool), {}),
    ("terminated", lambda rig: os.kill(rig.runner_pid(), signal.SIGTERM), {}),
]
NAMES = ["deadline", "cancel", "terminate", "SIGTERM to the runner"]


def _end_stubborn(rig: Rig, ask: Callable[[Rig], None], limits: dict[str, Any]) -> tuple[Exited, float]:
    """A tree that ignores SIGTERM, ended; the seconds that this took from the question on."""
    runner = rig.begin("sh", "-c", STUBBORN.format(rig.sleep), **limits)
    until(lambda: len(rig.living()) == STUBBORN_SIZE)
    ask(rig)
    began = time.monotonic()
    return rig.end(runner), time.monotonic() - began


@pytest.mark.parametrize(("ending", "ask", "limits"), WAYS, ids=NAMES)
def test_c44_a_stubborn_tree_is_gone(rig: Rig, ending: str, ask: Callable[[Rig], None], limits: dict[str, Any]) -> None:
    exited, seconds = _end_stubborn(rig, ask, limits)
    assert rig.living() == []
    assert (exited.ending, exited.code, exited.left) == (ending, -signal.SIGKILL, 0)
    assert GRACE - 0.05 < seconds < GRACE + limits.get("deadline_seconds", 0) + 4, "not much more than the grace"


def test_c44_on_macos_all_but_daemons_that_left_before_they_were_seen(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_BOOT", _AS_ON_MACOS)
    code = f"trap '' TERM; {rig.sleep} & ({rig.sleep} & {rig.sleep}) & setsid {rig.sleep} & sleep 1; {rig.sleep}"
    runner = rig.begin("sh", "-c", code)
    until(lambda: len(rig.living()) == 5)
    process.cancel(rig.spool)
    assert rig.end(runner).ending == "cancelled"
    assert rig.living() == []


@pytest.mark.parametrize(
    "orphan",
    ["(trap '' TERM; {0} &)", "setsid sh -c \"trap '' TERM; exec {0}\" &"],
    ids=["in the session, never seen", "seen when the end began"],
)
def test_c44_on_macos_who_outlives_the_agent_is_found_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, orphan: str
) -> None:
    monkeypatch.setattr(process, "_BOOT", _PATIENT.format(_AS_ON_MACOS))
    monkeypatch.setattr(tree, "system", tree.Ps)
    runner = rig.begin("sh", "-c", f"{orphan.format(rig.sleep)}\n{rig.sleep}")
    until(lambda: len(rig.living()) == 2)
    process.cancel(rig.spool)
    exited = rig.end(runner)
    assert (exited.ending, exited.code, rig.living()) == ("cancelled", -signal.SIGTERM, [])


def test_a_daemon_that_leaves_after_it_was_seen_is_remembered(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_BOOT", _AS_ON_MACOS)
    gate = rig.folder / "gate"
    code = f"setsid sh -c '{rig.sleep} & while [ ! -e {gate} ]; do sleep 0.05; done' & echo ready; {rig.sleep}"
    runner = rig.begin("sh", "-c", code)
    daemon = until(lambda: rig.living() if len(rig.living()) == 2 else None)
    until(lambda: all(str(pid) in rig.spool.tree.read_text() for pid in daemon) if rig.spool.tree.exists() else None)
    parents = {_parent(pid) for pid in daemon}
    gate.touch()
    until(lambda: {_parent(pid) for pid in daemon} != parents)
    process.cancel(rig.spool)
    rig.end(runner)
    assert rig.living() == []


def test_an_agent_may_end_itself_within_the_grace(rig: Rig) -> None:
    runner = rig.begin("sh", "-c", f"trap 'echo bye; exit 5' TERM; {rig.sleep} & wait", grace_seconds=20.0)
    until(rig.living)
    began = time.monotonic()
    process.cancel(rig.spool)
    exited = rig.end(runner)
    assert (exited.ending, exited.code, rig.output()) == ("cancelled", 5, b"bye\n")
    assert time.monotonic() - began < 15


def test_each_process_is_asked_once(rig: Rig) -> None:
    one = f"(trap 'echo asked' TERM; {rig.sleep} & wait; sleep 0.2) &\n"
    runner = rig.begin("sh", "-c", f"{one * 8} {rig.sleep}", grace_seconds=20.0)
    until(lambda: len(rig.living()) == 9)
    process.cancel(rig.spool)
    rig.end(runner)
    assert rig.output() == b"asked\n" * 8


def test_output_of_the_last_moments_passes_the_filter(rig: Rig) -> None:
    code = """
import signal, sys, time
def bye(*_):
    sys.stdout.write("x" * 1_000_000 + "\\nbye\\n"); sys.exit(5)
signal.signal(signal.SIGTERM, bye)
print("ready", flush=True)
time.sleep(600)
"""
    runner = rig.begin(*python(code), drop_prefix=b"x", grace_seconds=10.0)
    rig.ready()
    process.cancel(rig.spool)
    assert (rig.end(runner).code, rig.output()) == (5, b"ready\nbye\n")


def test_the_signal_hurries_a_runner_that_would_not_look_for_long(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_BOOT", _PATIENT.format(process._BOOT))
    runner = rig.begin("sh", "-c", f"echo ready; exec {rig.sleep}")
    rig.ready()
    process.cancel(rig.spool)
    assert rig.end(runner).ending == "cancelled"


def test_the_cancel_file_needs_no_signal(rig: Rig) -> None:
    runner = rig.begin("sh", "-c", f"echo ready; exec {rig.sleep}")
    rig.ready()
    rig.spool.cancel.touch()
    assert rig.end(runner).ending == "cancelled"


def test_who_asks_first_gives_the_ending_its_name(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = rig.folder / "gate"
    monkeypatch.setenv("PUSH_SEAMS", f"runner.before_gate=pause:{gate}")
    runner = rig.begin("cat")
    until(Path(f"{gate}.reached").exists)
    process.cancel(rig.spool)
    process.terminate(rig.spool)
    gate.touch()
    assert rig.end(runner).ending == "cancelled"
    assert process.asked_to_cancel(rig.spool)


def test_a_run_that_finished_has_finished(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = rig.folder / "gate"
    monkeypatch.setenv("PUSH_SEAMS", f"runner.agent_ended=pause:{gate}")
    runner = rig.begin("cat")
    until(Path(f"{gate}.reached").exists)
    process.cancel(rig.spool)
    gate.touch()
    exited = rig.end(runner)
    assert (exited.ending, exited.code) == ("exited", 0)


def test_cancelling_what_is_over_or_never_was_is_no_error(rig: Rig) -> None:
    process.cancel(rig.spool)
    rig.finish("true")
    process.cancel(rig.spool)
    process.terminate(rig.spool)


def test_the_runner_shrugs_at_a_hangup_and_at_ctrl_c(rig: Rig) -> None:
    runner = rig.begin("sh", "-c", f"echo ready; {rig.sleep}")
    rig.ready()
    os.kill(rig.runner_pid(), signal.SIGHUP)
    os.kill(rig.runner_pid(), signal.SIGINT)
    process.cancel(rig.spool)
    assert rig.end(runner).ending == "cancelled"


@pytest.mark.parametrize("fault", ["start", "boot"])
def test_c16_a_stale_record_signals_nobody(rig: Rig, fault: str) -> None:
    stranger = subprocess.Popen(rig.sleep.split())
    start = Path(f"/proc/{stranger.pid}/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    words = [str(stranger.pid), start, boot]
    words[{"start": 1, "boot": 2}[fault]] = "1"
    spool = rig.prepare()
    for record in (spool.runner, spool.agent):
        record.write_text(" ".join(words) + "\n")
    spool.tree.write_text(" ".join(words[:2]) + "\n")

    assert process.living_runner(spool) is None
    process.cancel(spool)
    process.terminate(spool)
    assert process.recover(spool) is process.Recovered.KILLED
    assert stranger.poll() is None
    assert not is_dead(stranger.pid)

    stranger.kill()
    stranger.wait()


def test_a_signal_that_comes_while_the_agent_starts_is_not_lost(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = rig.folder / "gate"
    monkeypatch.setenv("PUSH_SEAMS", f"runner.agent_recorded=pause:{gate}")
    runner: RunnerProcess = rig.begin("sh", "-c", f"echo ready; {rig.sleep}", grace_seconds=20.0)
    until(Path(f"{gate}.reached").exists)
    os.kill(rig.agent_pid(), signal.SIGTERM)
    gate.touch()
    assert rig.end(runner).code == -signal.SIGTERM


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    ("trap", "ending"), [("", "terminated"), ("trap 'echo done; exit 0' TERM", "exited")], ids=["died", "done"]
)
def test_who_ends_everybody_at_once_may_reach_the_agent_first(rig: Rig, trap: str, ending: str) -> None:
    """As an init system does, and the runner learns of both at the same moment. An agent that was done has answered."""
    runner = rig.begin("sh", "-c", f"{trap}\necho ready; while :; do sleep 0.02; done")
    rig.ready()
    pid, agent = rig.runner_pid(), rig.agent_pid()
    os.kill(pid, signal.SIGSTOP)
    os.kill(agent, signal.SIGTERM)
    os.kill(pid, signal.SIGTERM)
    until(lambda: is_dead(agent))
    os.kill(pid, signal.SIGCONT)
    assert rig.end(runner).ending == ending
