"""`push reload` and SIGHUP: what takes effect, what does not, who is asked, and how an end meets a reload."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.site import PUSH, Process, Site
from tests.crash.verdict import check

#: Fails where nobody holds a role, as long as a file is there.
_WATCHER = """\
import sys
from pathlib import Path
from push.locks import is_held
while Path(sys.argv[2]).exists():
    assert is_held(Path(sys.argv[1]))
"""
_KEPT = "the settings stay as they were"


def log(place: Site) -> str:
    return "".join(file.read_text() for file in (place.root / "logs").glob("*.log"))


def items(process: Process) -> list[dict[str, object]]:
    found = json.loads(process.out)
    assert found["version"] == 1
    return list(found["items"])


def workers(place: Site) -> str:
    """What the turns lane of the first consumer says."""
    loops = json.loads((place.root / "run" / "consumer-0.role").read_text())["loops"]
    return str(loops["turns"][1])


def reading(place: Site, role: str = "poll") -> dict[str, object]:
    """What the process says of its configuration; nothing while it is being written, or before the role is taken."""
    try:
        return dict(json.loads((place.root / "run" / f"{role}.role").read_text())["reading"])
    except (OSError, ValueError):
        return {"begun": 0, "ended": -1, "refused": ""}


def test_new_settings_take_effect_in_what_runs(place: Site) -> None:
    gateway = place.serve()
    place.configure("turns_workers = 3")
    done = place.run("reload")
    assert done.wait() == 0, done.err
    assert done.out == f"process {gateway.pid} (push run): works with the new settings\n"
    assert (reading(place)["begun"], reading(place)["ended"]) == (2, 2), "it says so when it is so"
    place.until(lambda: workers(place) == "3 workers", "three workers")
    assert place.chat("ann", "hello").wait() == 0
    assert gateway.stop() == 0, gateway.err
    check(place)


@pytest.mark.parametrize("line", ["turns_worker = 3", "turns_workers = "])
def test_a_wrong_file_keeps_the_last_good_settings(place: Site, line: str) -> None:
    gateway = place.serve()
    place.configure(line)
    refused = place.run("reload")
    assert (refused.wait(), refused.out) == (3, "")
    assert f"{place.config}:5" in refused.err
    assert reading(place)["begun"] == 1, "nothing is asked then"
    gateway.signal(signal.SIGHUP)
    place.until(lambda: reading(place)["ended"] == 2, "a reload")
    assert f"{place.config}:5" in str(reading(place)["refused"])
    assert _KEPT in log(place)
    seen = place.run("status")
    assert seen.wait() == 3, "the file is wrong, and what runs is shown all the same"
    assert f"stay in effect, {place.config}:5" in seen.out
    place.configure()
    assert "stay in effect" in place.run("status").out
    assert place.chat("ann", "hello").wait() == 0
    assert place.run("reload").wait() == 0
    assert "stay in effect" not in place.run("status").out
    assert gateway.stop() == 0, gateway.err


def test_a_key_that_moves_a_file_needs_a_restart(place: Site) -> None:
    gateway = place.serve()
    place.configure(f'state_path = "{place.root}/elsewhere.json"\njobs_run_dir = "{place.root}/elsewhere"')
    refused = place.run("reload", "--json")
    assert refused.wait() == 3
    (item,) = items(refused)
    assert (item["outcome"], item["hint"]) == ("kept", "push status")
    assert "state_path, jobs_run_dir is another one now, and a reload moves no files" in str(item["reason"])
    assert json.loads(refused.err)["error"]["code"] == "reload_refused"
    assert gateway.stop() == 0, gateway.err


def test_nothing_runs(place: Site) -> None:
    process = place.run("reload", "--json")
    assert (process.wait(), items(process)) == (1, [])
    assert json.loads(process.err)["error"]["code"] == "nothing_runs"
    assert json.loads(process.err)["error"]["hint"] == "push run"


def test_every_process_of_the_home_is_asked_and_a_terminal_is_not(place: Site) -> None:
    reader, writer = os.pipe()
    terminal = place.start("chat", "--user", "ann", stdin=reader)
    place.until((place.root / "run" / "consumer-0.role").exists, "a terminal's consumer")
    alone = place.run("reload", "--json")
    assert alone.wait() == 1
    assert [item["outcome"] for item in items(alone)] == ["not_asked"]
    started = {terminal.pid, place.serve("poll").pid, place.serve("consumer").pid, place.serve("consumer").pid}
    all_of_them = place.run("reload", "--json")
    assert all_of_them.wait() == 0
    assert {item["pid"] for item in items(all_of_them)} == started
    outcomes = {str(item["command"]): item["outcome"] for item in items(all_of_them)}
    assert outcomes == {"push chat": "not_asked", "push poll": "taken", "push consumer": "taken"}
    os.close(reader)
    os.close(writer)
    assert terminal.wait() == 0


@pytest.mark.slow
def test_c16_a_process_that_does_not_answer_and_a_pid_that_is_a_strangers(place: Site) -> None:
    """A killed gateway's role file names a pid that lives again: nobody is signalled, and nobody waited for."""
    gateway = place.serve()
    gateway.signal(signal.SIGSTOP)
    silent = place.run("reload")
    assert silent.wait() == 5
    assert f"process {gateway.pid} did not answer within 20 s" in silent.err
    gateway.signal(signal.SIGCONT)
    place.until(lambda: reading(place)["ended"] == 2, "the wish is carried out later")
    gateway.kill()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    for role in ("poll", "consumer-0"):
        file = place.root / "run" / f"{role}.role"
        file.write_text(file.read_text().replace(str(gateway.pid), str(stranger.pid)))
    assert place.run("reload").wait() == 1
    assert stranger.poll() is None
    stranger.communicate(b"\n", timeout=10)


def test_a_run_is_no_reloads_to_end(gated: Site) -> None:
    """Also where a stop would end it: what it comes to is collected by the parts that come after."""
    gated.configure('shutdown = "stop"')
    gateway = gated.serve()
    gated.say("ann", "one")
    gated.until(gated.entries, "an agent at work")
    for _ in range(3):
        assert gated.run("reload").wait() == 0
    gated.gate.touch()
    gated.until_states("answered")
    assert gated.entries() == ["one"]
    assert gated.listen("ann").out == "re: one\n"
    assert gateway.stop() == 0, gateway.err
    check(gated)


def test_an_agent_may_not_ask_for_it(place: Site) -> None:
    place.agent.write_text(f"#!/bin/sh\ncat > /dev/null\n{' '.join(PUSH)} reload 2>&1\ntrue\n")
    place.serve()
    terminal = place.chat("ann", "reload yourself")
    assert terminal.wait() == 0
    assert "an agent's run cannot have the configuration read anew" in terminal.out
    assert reading(place)["begun"] == 1


def test_many_wishes_at_once_are_few_reloads(place: Site) -> None:
    gateway = place.serve()
    asking = [place.start("reload") for _ in range(6)]
    for _ in range(50):
        gateway.signal(signal.SIGHUP)
    assert [process.wait() for process in asking] == [0] * 6
    place.until(lambda: reading(place)["ended"] == reading(place)["begun"], "an end of it")
    assert place.chat("ann", "hello").wait() == 0
    assert gateway.stop() == 0, gateway.err
    check(place)


def test_a_wish_during_the_start_is_heard(place: Site) -> None:
    gateway = place.start("run")
    place.until((place.root / "run" / "poll.role").exists, "a role")
    gateway.signal(signal.SIGHUP)
    assert place.run("reload").wait() == 0
    assert gateway.stop() == 0, gateway.err


@pytest.mark.parametrize("shutdown", ["hand_over", "stop"])
def test_an_end_during_a_reload_is_an_end(gated: Site, shutdown: str) -> None:
    gated.configure(f'shutdown = "{shutdown}"')
    gateway = gated.serve()
    gated.say("ann", "one")
    gated.until(gated.entries, "an agent at work")
    gateway.signal(signal.SIGHUP)
    gated.until(lambda: reading(gated)["begun"] == 2, "a reload that has begun")
    assert gateway.stop() == 0, gateway.err
    if shutdown == "stop":
        gated.until(lambda: not gated.runners(), "the end of the agent", 10)
    else:
        assert gated.runners()
    gated.gate.touch()
    again = gated.serve()
    gated.until_states("answered")
    assert again.stop() == 0, again.err
    check(gated)


def test_a_terminal_that_was_closed_leaves_no_orphan(place: Site) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(PUSH_HOME=str(place.root))
        os.execv(PUSH[0], [*PUSH, "run"])
    place.until(lambda: reading(place)["ended"] == 1, "a start")
    os.kill(pid, signal.SIGHUP)  # the window is still there: a reload
    place.until(lambda: reading(place)["ended"] == 2, "a reload")
    os.close(terminal)
    place.until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, "its end", 15)
    assert place.serve().stop() == 0, "its roles are free"


def test_nohup_outlives_its_terminal(place: Site) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.environ.update(PUSH_HOME=str(place.root))
        os.execv(PUSH[0], [*PUSH, "run"])
    place.until(lambda: reading(place)["ended"] == 1, "a start")
    os.close(terminal)
    place.until(lambda: reading(place)["ended"] == 2, "a reload at most")
    assert place.run("reload").wait() == 0
    os.kill(pid, signal.SIGTERM)
    place.until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, "its end", 15)


def test_the_roles_are_nobody_elses_meanwhile(place: Site) -> None:
    gateway = place.serve("poll")
    role = place.root / "run" / "poll.role"
    other = place.spawn((sys.executable, "-c", _WATCHER, str(role), str(place.config)))
    for _ in range(5):
        assert place.run("reload").wait() == 0
    place.config.rename(place.root / "off")
    assert other.wait() == 0, other.err
    assert gateway.stop() == 0, gateway.err
    assert Path(place.root / "off").exists()
