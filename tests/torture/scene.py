"""One torture run: a home, its processes, and the kills that they suffer at random moments.

Owns what happens; does not own what it means (`tests.torture.judgement`).
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.crash.site import READY, Process, Site

CALM_SECONDS = 1.5
SCREENS = 8  # that end at a seam

#: Two lines for each run, and one where another run of the conversation is at work. Some runs take their time. What
#: it starts holds the conversation's file too, so that whatever a killed run leaves counts as at work.
AGENT = """#!/bin/sh
read -r c n
exec 9>>"${DIARY%/*}/busy/$c"
flock -n 9 || echo "overlap $c $n" >> "$DIARY"
echo "begin $c $n" >> "$DIARY"
case $n in LONG) PAUSE ;; esac
echo "re: $c $n"
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run consists of. Something is killed every `every_seconds` on average, until the work is done.

    `without` is a piece of `crippled.py`; "" runs Push as it is. `signal` is what consumers get. `long` is the pattern
    of the numbers of the messages whose run pauses. When `calm`, kills come while nothing moves, and the pauses last
    until all are over: nothing is left to the machine's speed. A conversation's messages come within
    `spread_seconds` of each other; 0: all come as fast as they can. Screens end at `screen_seams`, and new ones begin.
    `quiet_seconds` without any change end the run.
    """

    seed: int
    conversations: int = 200
    messages: int = 20
    workers: int = 16
    consumers: int = 1
    consumer_kills: int = 12
    runner_kills: int = 12
    feeder_kills: int = 3
    screen_kills: int = 3
    queue_losses: int = 2
    every_seconds: float = 3.0
    without: str = ""
    signal: signal.Signals = signal.SIGKILL
    long: str = "*7"
    calm: bool = False
    spread_seconds: float = 0.0
    screen_seams: str = ""
    quiet_seconds: float = 60.0

    @property
    def expected(self) -> int:
        """How many messages there are."""
        return self.conversations * self.messages


@dataclass(slots=True)
class Record:
    """What happened: how often each kind was killed, which runs, how long it took, how long nothing moved."""

    kills: dict[str, int] = field(default_factory=dict)
    killed_runs: set[str] = field(default_factory=set)
    seconds: float = 0.0
    longest_silence: float = 0.0


class Scene:
    """Runs a plan on a site. `say` gets a line about the progress now and then."""

    def __init__(self, site: Site, plan: Plan, say: Callable[[str], None]) -> None:
        self.site = site
        self.plan = plan
        self.record = Record()
        self._say = say
        self._random = random.Random(plan.seed)
        self._consumers: list[Process] = []
        self._screen: Process
        self._feeder: Process
        (site.root / "busy").mkdir()
        pause = 'while [ ! -e "$GATE" ]; do sleep 0.05; done' if plan.calm else "sleep 0.6"
        site.agent.write_text(AGENT.replace("LONG", plan.long).replace("PAUSE", pause))
        site.configure(f"turns_workers = {plan.workers}")
        self.printed = site.root / "screen"

    def run(self) -> Record:
        """From the first message until everything is done, or nothing moves any more."""
        began = time.monotonic()
        self._consumers = [self._consumer() for _ in range(self.plan.consumers)]
        for consumer in self._consumers:
            self.site.until_ready(consumer)
        self._screen = self._new_screen()
        self._feeder = self._new_feeder()
        self._follow()
        self.record.seconds = time.monotonic() - began
        for process in (*self._consumers, self._screen, self._feeder):
            process.kill()
        return self.record

    def _follow(self) -> None:
        kills = self._schedule()
        due = time.monotonic() + self._pause()
        changed, before, told = time.monotonic(), None, 0.0
        while True:
            now = time.monotonic()
            is_time = self._is_calm(now - changed) if self.plan.calm else now >= due
            if is_time and kills:
                kills.pop()()
                due, changed = now + self._pause(), now
            elif is_time:
                self.site.gate.touch()
            if not self._screen.is_running:
                self._screen = self._new_screen()
                self._count("screen")
            state = self._state()
            if state != before:
                self.record.longest_silence = max(self.record.longest_silence, now - changed)
                before, changed = state, now
            if not self._is_ready():
                changed = now
            if self._is_done(state) or (now - changed > self.plan.quiet_seconds and not self.site.runners()):
                return
            if now - told > 10:
                self._say(f"{now:.0f} s: {dict(state[0])}, kills left {len(kills)}")
                told = now
            time.sleep(0.05)

    def _is_calm(self, silence: float) -> bool:
        return silence > CALM_SECONDS and bool(self.site.entries()) and self._is_ready()

    def _is_ready(self) -> bool:
        return all(READY in consumer.err for consumer in self._consumers)

    def _state(self) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], int]:
        turns = tuple(self.site.query("SELECT state, count(*) FROM turn GROUP BY state"))
        outbound = tuple(self.site.query("SELECT state, count(*) FROM outbound GROUP BY state"))
        return turns, outbound, self.site.diary.stat().st_size if self.site.diary.exists() else 0

    def _is_done(self, state: tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], int]) -> bool:
        turns, outbound = dict(state[0]), dict(state[1])
        ended = turns.get("answered", 0) + turns.get("failed", 0)
        if ended < self.plan.expected or sum(turns.values()) > ended:
            return False
        if outbound.keys() - {"delivered", "unknown"}:
            return False
        return not list((self.site.root / "spool").iterdir())

    # -- processes -----------------------------------------------------------------------------------------------

    def _module(self, *words: str) -> tuple[str, ...]:
        return (sys.executable, "-m", *words)

    def _consumer(self) -> Process:
        if self.plan.without:
            return self.site.spawn(self._module("tests.torture.crippled", self.plan.without, "consumer"))
        return self.site.spawn(self._module("push", "consumer"))

    def _new_screen(self) -> Process:
        if self.plan.without:
            crippled = ("tests.torture.crippled", self.plan.without, "screen")
            return self.site.spawn(self._module(*crippled, str(self.printed)), seams=self._screen_seams())
        return self.site.spawn(self._module("tests.torture.screen", str(self.printed)))

    def _screen_seams(self) -> str:
        return self.plan.screen_seams if self.record.kills.get("screen", 0) < SCREENS else ""

    def _new_feeder(self) -> Process:
        numbers = (self.plan.seed, self.plan.conversations, self.plan.messages, self.plan.spread_seconds)
        return self.site.spawn(self._module("tests.torture.feeder", *map(str, numbers)))

    # -- kills ---------------------------------------------------------------------------------------------------

    def _pause(self) -> float:
        return self._random.uniform(0.3, 1.7) * self.plan.every_seconds

    def _schedule(self) -> list[Callable[[], None]]:
        plan = self.plan
        kills = [self._kill_consumer] * plan.consumer_kills + [self._kill_runner] * plan.runner_kills
        kills += [self._kill_feeder] * plan.feeder_kills + [self._kill_screen] * plan.screen_kills
        kills += [self._lose_queue] * plan.queue_losses
        self._random.shuffle(kills)
        return kills

    def _count(self, kind: str) -> None:
        self.record.kills[kind] = self.record.kills.get(kind, 0) + 1

    def _kill_consumer(self) -> None:
        index = self._random.randrange(len(self._consumers))
        self._consumers[index].signal(self.plan.signal)
        self._consumers[index].wait()
        self._consumers[index] = self._consumer()
        self._count("consumer")

    def _kill_runner(self) -> None:
        """One of a first run, and no message's twice: a second interruption would rightly end it."""
        killed = {run.partition("-")[0] for run in self.record.killed_runs}
        runs = {
            run: pid
            for run, pid in self.site.runners().items()
            if run.endswith("-1") and run.partition("-")[0] not in killed
        }
        if not runs:
            return
        run = self._random.choice(sorted(runs))
        try:
            os.kill(runs[run], signal.SIGKILL)
        except ProcessLookupError:
            return
        self.record.killed_runs.add(run)
        self._count("runner")

    def _kill_feeder(self) -> None:
        if self._feeder.is_running:
            self._feeder.kill()
            self._feeder = self._new_feeder()
            self._count("feeder")

    def _kill_screen(self) -> None:
        self._screen.kill()
        self._screen = self._new_screen()
        self._count("screen")

    def _lose_queue(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            (self.site.root / f"queue.db{suffix}").unlink(missing_ok=True)
        self._count("queue")
