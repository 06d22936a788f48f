"""Processes of a gateway: roles, how they end, and what of their work goes on."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.crash.site import Process, Site
from tests.crash.verdict import check

#: Deaf to SIGTERM, with a child and a grandchild that are too, and a daemon in a session of its own.
STUBBORN_AGENT = """#!/bin/sh
trap '' TERM
cat >> "$DIARY"
setsid -f sh -c 'trap "" TERM; while :; do sleep 0.2; done'
sh -c 'trap "" TERM; sh -c "trap \\"\\" TERM; while :; do sleep 0.2; done" & while :; do sleep 0.2; done' &
while [ ! -e "$GATE" ]; do sleep 0.05; done
echo done
"""


def _members(place: Site) -> list[int]:
    """Every living process that belongs to a run of this home, by the mark in its environment."""
    mark = f"PUSH_RUN={place.root.resolve()}/spool/".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if any(each.startswith(mark) for each in (folder / "environ").read_bytes().split(b"\0")):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _begin(place: Site, *words: str, seams: str = "") -> Process:
    """A gateway whose agent is at work on `one`, with `two` behind it."""
    gateway = place.serve(*words, seams=seams)
    place.commit(("ann", "one"), ("ann", "two"))
    place.until(place.entries, "an agent at work")
    return gateway


def test_a_second_gateway_is_told_who_is_there(place: Site) -> None:
    gateway = place.serve()
    second = place.run("run")
    assert second.wait() == 6
    assert f"process {gateway.pid}" in second.err
    assert place.run("poll").wait() == 6
    assert gateway.stop() == 0
    assert place.serve().stop() == 0


def test_a_killed_gateway_leaves_no_role_behind(place: Site) -> None:
    place.serve().kill()
    assert place.serve().stop() == 0


def test_drain_ends_when_nothing_is_due(place: Site) -> None:
    place.commit(("ann", "one"), ("ann", "two"), ("bob", "three"))
    drained = place.run("consumer", "--drain", seconds=60)
    assert drained.wait() == 0, drained.err
    assert place.states() == ["answered"] * 3
    assert place.run("consumer", "--drain").wait() == 0
    check(place)


def test_poll_once_ends(place: Site) -> None:
    assert place.run("poll", "--once").wait() == 0
    gateway = place.serve("poll")
    assert place.run("poll", "--once").wait() == 6
    assert gateway.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_graceful_stop_hands_the_run_over(gated: Site, number: signal.Signals) -> None:
    gateway = _begin(gated)
    gateway.signal(number)
    assert gateway.wait() == 0
    assert list(gated.runners()) == ["t1-1"]
    gated.gate.touch()
    gated.until(lambda: not gated.runners(), "the end of the runner")
    assert gated.states() == ["running", "queued"]
    gated.serve()
    gated.until_states("answered", "answered")
    assert gated.entries() == ["one", "two"]
    check(gated)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux sends a signal to a thread of another process")
def test_a_signal_that_another_thread_got_is_not_lost(place: Site) -> None:
    """Python runs handlers in the main thread only, which must not sleep on; under load that was one stop in thirty."""
    gateway = place.serve()
    threads = {int(task.name) for task in Path(f"/proc/{gateway.pid}/task").iterdir()} - {gateway.pid}
    os.kill(max(threads), signal.SIGTERM)
    assert gateway.wait(15) == 0


def test_a_runner_that_goes_on_is_waited_for(gated: Site) -> None:
    _begin(gated).kill()
    gated.serve()
    assert gated.states() == ["running", "queued"]
    gated.gate.touch()
    gated.until_states("answered", "answered")
    assert gated.entries() == ["one", "two"]
    check(gated)


def test_stop_ends_the_run_and_the_next_start_resumes_it(gated: Site) -> None:
    gated.configure('shutdown = "stop"')
    assert _begin(gated).stop() == 0
    assert gated.runners() == {}
    gated.gate.touch()
    gated.serve()
    gated.until_states("answered", "answered")
    assert gated.entries() == ["one", "one (again)", "two"]
    check(gated)


def test_stop_ends_a_run_that_an_earlier_gateway_began(gated: Site) -> None:
    _begin(gated).kill()
    gated.configure('shutdown = "stop"')
    gateway = gated.serve()
    assert gateway.stop() == 0
    gated.until(lambda: not gated.runners(), "the end of the runner", 10)
    gated.gate.touch()
    gated.serve()
    gated.until_states("answered", "answered")
    assert gated.entries() == ["one", "one (again)", "two"]
    check(gated)


def test_stop_leaves_the_runs_of_another_consumer_alone(gated: Site) -> None:
    gated.configure('shutdown = "stop"')
    working = gated.serve("consumer")
    gated.commit(("ann", "one"))
    gated.until(gated.entries, "an agent at work")
    assert gated.serve("consumer").stop() == 0
    gated.gate.touch()
    gated.until_states("answered")
    assert gated.entries() == ["one"]
    assert working.stop() == 0
    check(gated)


def test_a_second_signal_ends_the_runs_too(gated: Site) -> None:
    go_on = gated.root / "go-on"
    gateway = _begin(gated, seams=f"turn.runner_started=pause:{go_on}")
    gateway.signal(signal.SIGTERM)
    gated.until(lambda: not (gated.root / "run" / "leader.lock").exists() or _stopping(gated), "a gateway that stops")
    gateway.signal(signal.SIGTERM)
    gated.until(lambda: not gated.runners(), "the end of the runner")
    go_on.touch()
    assert gateway.wait() == 0
    gated.gate.touch()
    gated.serve()
    gated.until_states("answered", "answered")
    assert gated.entries() == ["one", "one (again)", "two"]
    check(gated)


def _stopping(place: Site) -> bool:
    """The sweep ends first: its socket is gone."""
    return not list((place.root / "run").glob("sweep.*"))


def test_c44_a_stubborn_family_is_gone_after_a_stop(gated: Site) -> None:
    gated.agent.write_text(STUBBORN_AGENT)
    gated.configure('shutdown = "stop"')
    gateway = _begin(gated)
    gated.until(lambda: len(_members(gated)) > 4, "a family at work")
    assert gateway.stop() == 0
    assert _members(gated) == []


def test_c44_a_stubborn_family_is_gone_after_a_timeout(gated: Site) -> None:
    gated.agent.write_text(STUBBORN_AGENT)
    gated.configure('run_timeout = "1s"')
    gated.serve()
    terminal = gated.chat("ann", "one")
    assert terminal.wait() == 1
    assert "took longer than allowed" in terminal.out
    assert _members(gated) == []
    check(gated)


def test_c44_a_stubborn_family_is_gone_after_cancel(gated: Site) -> None:
    gated.agent.write_text(STUBBORN_AGENT)
    gated.serve()
    gated.commit(("ann", "one"))
    gated.until(lambda: len(_members(gated)) > 4, "a family at work")
    assert gated.cancel(1).wait() == 0
    gated.until_states("cancelled")
    assert _members(gated) == []
    check(gated)


def test_c45_what_holds_the_output_open_does_not_hold_the_answer(place: Site) -> None:
    place.agent.write_text("#!/bin/sh\ncat\nsleep 600 &\nsetsid -f sleep 600\n")
    place.serve()
    terminal = place.chat("ann", "one")
    try:
        assert terminal.wait(15) == 0
        assert terminal.out == "one\n"
        place.until(lambda: len(_members(place)) == 2, "two that were left on purpose")
        check(place)
    finally:
        for pid in _members(place):
            os.kill(pid, signal.SIGKILL)


def test_sigterm_comes_before_everything_is_up(gated: Site) -> None:
    """Whatever it had begun by then, a gateway that is told to end ends, and with 0."""
    gated.commit(("ann", "one"))
    gateway = gated.start("run")
    gated.until(lambda: (gated.root / "run" / "poll.role").exists() or not gateway.is_running, "a role")
    assert gateway.stop() == 0
    gated.gate.touch()
    gated.serve()
    gated.until_states("answered")
    check(gated)
