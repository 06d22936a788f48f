"""The shipped unit under the real systemd: stops lose nothing, and starts and stops leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.tasks import roles
from tests.channels.scene import Scene
from tests.service.stage import OWNER, UNIT, held, override, sizes, start, until_polling
from tests.service.systemd import UserManager


@pytest.mark.slow
def test_twenty_starts_and_stops_leave_nothing(manager: UserManager, place: Scene) -> None:
    place.done("service", "install")
    place.telegram.say(OWNER, "hello")
    place.until_answered(OWNER)
    manager.done("stop", UNIT)
    seen = []
    for cycle in range(20):
        pid = start(manager, place)
        if cycle % 5 == 4:
            until_polling(manager, place)  # the others are stopped while Telegram makes their first poll wait
        manager.done("stop", UNIT)
        assert not manager.processes(UNIT)
        assert not Path(f"/proc/{pid}").exists()
        assert roles.living(place.root / "run") == []
        assert held(place.root) == []
        seen.append(sizes(place.root))
    assert seen[19] == seen[4]
    assert place.answers(OWNER) == ["re: hello"]


@pytest.mark.parametrize("ends", ["while it is stopped", "after the start"])
def test_a_stop_in_the_middle_of_a_turn_loses_nothing(manager: UserManager, gated: Scene, ends: str) -> None:
    gated.done("service", "install")
    gated.telegram.say(OWNER, "hello")
    gated.until(lambda: gated.entries() == ["hello"], "an agent at work")
    manager.done("stop", UNIT)
    assert manager.show(UNIT, "ActiveState") == "inactive"
    assert manager.processes(UNIT) >= set(gated.runners().values()) != set()
    if ends == "while it is stopped":
        gated.gate.touch()
        gated.until(lambda: not manager.processes(UNIT), "the end of the agent")
        start(manager, gated)
    else:
        start(manager, gated)
        gated.gate.touch()
    assert gated.until_answered(OWNER) == ["re: hello"]
    gated.until_states("answered")
    assert gated.entries() == ["hello"]


def test_without_our_kill_mode_the_agent_runs_twice(manager: UserManager, gated: Scene) -> None:
    """The counter-proof: what the tests above see comes from the unit."""
    override("kill", "KillMode=control-group")
    gated.done("service", "install")
    gated.telegram.say(OWNER, "hello")
    gated.until(lambda: gated.entries() == ["hello"], "an agent at work")
    manager.done("stop", UNIT)
    assert not gated.runners()
    start(manager, gated)
    gated.gate.touch()
    gated.until_answered(OWNER)
    assert gated.entries() == ["hello", "hello (again)"]


def test_a_message_of_the_meantime_is_answered(manager: UserManager, place: Scene) -> None:
    place.done("service", "install")
    manager.done("stop", UNIT)
    place.telegram.say(OWNER, "while you slept")
    start(manager, place)
    assert place.until_answered(OWNER) == ["re: while you slept"]


def test_a_killed_service_comes_back(manager: UserManager, place: Scene) -> None:
    override("soon", "RestartSec=100ms")
    place.done("service", "install")
    before = until_polling(manager, place)
    manager.done("kill", "--kill-whom=main", "--signal=KILL", UNIT)
    assert until_polling(manager, place) != before
    place.telegram.say(OWNER, "still there?")
    assert place.until_answered(OWNER) == ["re: still there?"]
    manager.done("stop", UNIT)


def test_c65_a_wrong_configuration_is_no_restart_storm(manager: UserManager, place: Scene) -> None:
    override("soon", "RestartSec=1ms")
    place.done("service", "install")
    manager.done("stop", UNIT)
    right = place.config.read_text()
    place.config.write_text("allow_user_id = 7\n" + right)
    manager.done("start", UNIT)
    place.until(lambda: manager.show(UNIT, "ActiveState") == "failed", "a service that gave up")
    assert manager.show(UNIT, "NRestarts") == "0"
    assert manager.show(UNIT, "ExecMainStatus") == "3"
    shown = place.run("service", "status")
    assert (shown.wait(), "ended with exit code 3" in shown.out) == (1, True)
    place.config.write_text(right)
    place.done("service", "install")
    until_polling(manager, place)


def test_a_taken_role_is_no_restart_storm(manager: UserManager, place: Scene) -> None:
    override("soon", "RestartSec=1ms")
    place.done("service", "install")
    manager.done("stop", UNIT)
    foreground = place.serve("run")
    manager.done("start", UNIT)
    place.until(lambda: manager.show(UNIT, "ActiveState") == "failed", "a service that gave up")
    assert (manager.show(UNIT, "NRestarts"), manager.show(UNIT, "ExecMainStatus")) == ("0", "6")
    assert foreground.stop() == 0


def test_a_reload_takes_the_new_configuration_and_keeps_the_old_one_where_it_is_wrong(
    manager: UserManager, place: Scene
) -> None:
    place.done("service", "install")
    pid = until_polling(manager, place)
    right = place.config.read_text()
    place.config.write_text("allow_user_id = 7\n" + right)
    assert manager.ask("reload", UNIT).returncode != 0
    place.play("#!/bin/sh\necho by the new one\n")
    place.config.write_text(right.replace("command = [", 'command = ["/bin/sh", '))
    manager.done("reload", UNIT)
    place.telegram.say(OWNER, "hello")
    assert place.until_answered(OWNER) == ["by the new one"]
    assert until_polling(manager, place) == pid
