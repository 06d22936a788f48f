"""The shipped unit under the real systemd: stops lose nothing, and starts and stops leave nothing behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.channels.scene import Scene
from tests.service.manager import UserManager

UNIT = "push.service"
OWNER = 7


def start(manager: UserManager, place: Scene) -> int:
    """Start the service, wait until it polls, and return its process."""
    manager.done("start", UNIT)
    pid = int(manager.show(UNIT, "MainPID"))
    place.until(lambda: poller(place) == pid, "a service that polls")
    place.until_polled()
    return pid


def poller(place: Scene) -> int | None:
    """Who holds the role poll and reads a channel."""
    listed = json.loads(place.done("status", "--json").out)["processes"]
    return next((row["pid"] for row in listed if row["role"] == "poll" and row["loops"]), None)


def contents(root: Path) -> dict[str, int]:
    """Every file of a home with its size."""
    return {str(path.relative_to(root)): path.stat().st_size for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_twenty_starts_and_stops_leave_nothing(manager: UserManager, place: Scene) -> None:
    place.done("service", "install")
    place.telegram.say(OWNER, "hello")
    place.until_answered(OWNER)
    manager.done("stop", UNIT)
    seen = []
    for _ in range(20):
        pid = start(manager, place)
        manager.done("stop", UNIT)
        assert not manager.processes(UNIT)
        assert not Path(f"/proc/{pid}").exists()
        assert json.loads(place.done("status", "--json").out)["processes"] == []
        seen.append(contents(place.root))
    print(seen[4])
    print({k: (v, seen[19].get(k)) for k, v in seen[4].items() if seen[19].get(k) != v})
    assert seen[19] == seen[4]
