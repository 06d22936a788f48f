"""The scenario by which the gateway is accepted: sixty messages, ten kills, and the queue gone in the middle."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.site import AGENT, Process, Site, site
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

CONVERSATIONS = 12
MESSAGES = 5
KILLS = 5


#: The last message of each conversation waits until the storm is over: without work there is nothing to kill.
_PAUSE = """case $m in
*.last) while [ ! -e "$GATE" ]; do sleep 0.05; done ;;
esac
sleep 0.4"""


@pytest.fixture
def place(home: Path) -> Iterator[Site]:
    with site(home, agent=AGENT.replace("sleep 0.1", _PAUSE)) as made:
        yield made


class _Storm:
    """The events, each fired once the agents have begun a certain number of messages."""

    def __init__(self, place: Site, seed: int) -> None:
        self._place = place
        self._random = random.Random(seed)
        self.gateway: Process = place.serve()
        self.killed_turns: set[int] = set()

    def run(self) -> None:
        events = [self._kill_gateway] * KILLS + [self._kill_runner] * KILLS + [self._delete_queue]
        self._random.shuffle(events)
        marks = sorted(self._random.sample(range(2, CONVERSATIONS * MESSAGES - 8), len(events)))
        for mark, event in zip(marks, events, strict=True):
            self._until_begun(mark)
            event()

    def _until_begun(self, count: int) -> None:
        self._place.until(lambda: len(self._place.entries()) >= count, f"{count} messages begun", 60)

    def _kill_gateway(self) -> None:
        self.gateway.kill()
        self.gateway = self._place.serve()

    def _kill_runner(self) -> None:
        """One that carries a first run: a second interruption would rightly end the message."""
        self._place.until(self._killed_one, "a runner to kill")

    def _killed_one(self) -> bool:
        first = {run: pid for run, pid in self._place.runners().items() if run.endswith("-1")}
        fresh = {run: pid for run, pid in first.items() if _turn(run) not in self.killed_turns}
        if not fresh:
            return False
        run = self._random.choice(sorted(fresh))
        try:
            os.kill(fresh[run], signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.killed_turns.add(_turn(run))
        return True

    def _delete_queue(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            (self._place.root / f"queue.db{suffix}").unlink(missing_ok=True)


def _turn(run: str) -> int:
    return int(run[1:].partition("-")[0])


def test_sixty_messages_ten_kills_and_no_queue(place: Site) -> None:
    seed = random.getrandbits(32)
    print("seed", seed)
    numbers = (*range(1, MESSAGES), "last")
    said = {f"user{user}": [f"{user}.{number}" for number in numbers] for user in range(CONVERSATIONS)}
    storm = _Storm(place, seed)
    terminals = {user: place.chat(user, *lines) for user, lines in said.items()}
    storm.run()
    place.gate.touch()
    for user, terminal in terminals.items():
        assert terminal.wait(60) == 0, (user, terminal.err)
        assert terminal.out.splitlines() == [f"re: {text}" for text in said[user]]
    check(place)

    killed = {row.text for row in place.turns() if row.id in storm.killed_turns}
    assert len(killed) == KILLS
    lines = Counter(entry.removesuffix(" (again)") for entry in place.entries())
    assert set(lines) == {text for texts in said.values() for text in texts}
    assert all(count == 1 or (count == 2 and text in killed) for text, count in lines.items())
