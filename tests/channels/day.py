"""A day of many conversations, replayed faster and with faults: `python -m tests.channels.day --speed 60`.

Owns the day's plan, playing it and what is wrong afterwards; does not own Telegram's limits (`tests.telegram.rates`).
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.channels.scene import REPEAT, Scene, scene
from tests.crash.site import Process
from tests.crash.verdict import findings
from tests.telegram.records import Request
from tests.telegram.remote import separate

DAY_SECONDS = 24 * 3600
FIRST_PERSON = 7
FIRST_GROUP = -1_001_000_000_000
_LINES = 150
_CROSSING_SECONDS = 0.25
_CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
_MENTION = [{"type": "mention", "offset": 0, "length": 9}]
_NAME = re.compile(r"c\d+m\d+\w*")
_ANSWER = re.compile(r"re: .*?(c\d+m\d+\w*)\s*\Z", re.DOTALL)
_LINE = re.compile(r"line \d+ of c\d+m\d+long")

#: Its diary has a line for each run; some answers need several messages.
AGENT = f"""#!/bin/sh
m=$(cat | grep -o 'c[0-9]*m[0-9]*[a-z]*' | tail -n 1)
printf '%s\\n' "$m" >> "$DIARY"
case $m in *long) seq -f "line %g of $m, which has words enough to fill some messages" {_LINES};; esac
printf '\\nre: %s\\n' "$m"
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """`chats` conversations, every sixth of them a group, each with so many `messages`, within so many `seconds`."""

    chats: int
    messages: int
    seconds: float
    seed: int

    @property
    def people(self) -> range:
        """Those who talk to the bot in private."""
        return range(FIRST_PERSON, FIRST_PERSON + self.chats - self.chats // 6)

    @property
    def groups(self) -> tuple[int, ...]:
        """The groups that are let in."""
        return tuple(FIRST_GROUP - number for number in range(self.chats // 6))


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens, so many seconds after the day's beginning."""

    at: float
    happen: Callable[[], object]


class Day:
    """Plays a plan on a home. What was said is in `said`, per chat and in order."""

    def __init__(self, place: Scene, plan: Plan) -> None:
        self.place = place
        self.plan = plan
        self.said: dict[int, list[str]] = {chat: [] for chat in (*plan.people, *plan.groups)}
        self.kills = 0
        self._chance = random.Random(plan.seed)
        self._gateway: Process | None = None
        place.play(AGENT)
        place.configure('[delivery]\nexpire_after = "1h"', chats=plan.groups)

    def play(self) -> None:
        """Let everything happen at its time, and wait until nothing is on its way any more."""
        self._gateway = self.place.serve()
        begun = time.monotonic()
        for event in sorted(self._messages() + self._faults(), key=lambda event: event.at):
            time.sleep(max(0.0, begun + event.at - time.monotonic()))
            event.happen()
        self.place.telegram.accept_connections()
        self.place.telegram.clear_faults()
        self.place.until_settled(self.plan.chats * self.plan.messages, 120)
        over = {"delivered", "unknown"}
        self.place.until(lambda: {row[0] for row in self.place.deliveries()} <= over, "nothing on its way", 120)

    def _messages(self) -> list[Event]:
        """People write in bursts, as people do."""
        events = []
        for number, chat in enumerate(self.said):
            times = sorted(self._chance.uniform(0, self.plan.seconds) for _ in range(self.plan.messages))
            for index in range(1, len(times)):
                if self._chance.random() < 0.3:
                    times[index] = times[index - 1] + 0.05
            for index, at in enumerate(times):
                long = "long" if self._chance.random() < 0.1 and chat > 0 else ""
                name = f"c{number}m{index}{long}"
                events.append(Event(at, lambda chat=chat, name=name: self._say(chat, name)))  # type: ignore[misc]
        return events

    def _say(self, chat: int, name: str) -> None:
        self.said[chat].append(name)
        if chat > 0:
            self.place.telegram.say(chat, name)
        else:
            person = self._chance.choice(self.plan.people)
            self.place.telegram.say(person, f"@push_bot {name}", chat=chat, entities=_MENTION)

    def _faults(self) -> list[Event]:
        """Everything that a network and a service do to a bot, spread over the day; more of it on a longer one."""
        telegram, chance = self.place.telegram, self._chance
        faults: list[Callable[[], object]] = [
            *[lambda: telegram.flood("sendMessage", chance.randint(1, 3), chat=chance.choice(list(self.said)))] * 4,
            lambda: telegram.flood("sendMessage", 2, times=3),
            lambda: telegram.flood("sendChatAction", 2, times=2),
            lambda: telegram.flood("getUpdates", 2),
            lambda: telegram.fail("getUpdates", 409, _CONFLICT, times=2),
            lambda: telegram.answer("getUpdates", 502, "<html>Bad Gateway</html>"),
            lambda: telegram.disturb("getUpdates", "close"),
            lambda: telegram.disturb("getUpdates", "late", seconds=1.0),
            lambda: telegram.fail("sendMessage", 500, "Internal Server Error"),
            *[lambda: telegram.disturb("sendMessage", "lose")] * 2,
            lambda: telegram.disturb("sendMessage", "close"),
            lambda: telegram.disturb("sendMessage", "late", seconds=2.0),
            lambda: telegram.disturb("sendMessage", "trickle", seconds=2.0),
            *[self._kill] * 2,
            self._restart,
        ]
        faults *= max(1, round(self.plan.seconds / 300))
        events = [Event(self.plan.seconds * chance.uniform(0.05, 0.9), fault) for fault in faults]
        out = self.plan.seconds * 0.5
        return [*events, Event(out, telegram.refuse_connections), Event(out + 2.0, telegram.accept_connections)]

    def _kill(self) -> None:
        assert self._gateway is not None
        self.kills += 1
        self._gateway.kill()
        self._gateway = self.place.serve()

    def _restart(self) -> None:
        assert self._gateway is not None
        assert self._gateway.stop() == 0
        self._gateway = self.place.serve()


# -- what is wrong ----------------------------------------------------------------------------------------------------


def judge(day: Day) -> list[str]:
    """Everything that went wrong, as sentences."""
    place = day.place
    verified = place.run("verify")
    verdict = [] if verified.wait() == 0 else [f"push verify: {verified.out}"]
    broken = [sentence for sentence in place.telegram.violations() if "retry_after" not in sentence]
    early = _early(place.telegram.requests())
    return [*early, *broken, *_runs(day), *_answers(day), *_listed(place), *findings(place), *verdict]


def _early(requests: list[Request]) -> list[str]:
    """As the fake's own judge, but that a request of another kind may have been under way when the 429 came."""
    floods: dict[object, Request] = {}
    found = []
    for request in requests:
        key = request.chat if request.chat is not None else request.method
        if (flood := floods.get(key)) and flood.done is not None and flood.retry_after is not None:
            since = request.monotonic - flood.done
            crossing = request.method != flood.method and since < _CROSSING_SECONDS
            if since < flood.retry_after and not crossing:
                found.append(f"request {request.number} ({request.method}) {since:.3f} s after {flood.retry_after} s")
        if request.retry_after is not None:
            floods[key] = request
    return found


def _runs(day: Day) -> list[str]:
    """An agent runs once for a message; twice where a kill met it (the second is told so)."""
    interrupted = sum(row.interruptions for row in day.place.turns())
    runs = Counter(day.place.entries())
    wanted = {name for names in day.said.values() for name in names}
    found = [f"{name} was never run" for name in wanted - runs.keys()]
    more = sum(runs.values()) - len(runs)
    return [*found, *([f"{more} runs too many, {interrupted} interrupted"] if more > interrupted else [])]


def _answers(day: Day) -> list[str]:
    """Every answer in its chat, in order, and what came twice marked."""
    doubtful = set()
    for text, repeat, state in day.place.query(
        "SELECT t.text, o.repeat, o.state FROM outbound o JOIN turn t ON t.id = o.turn_id"
    ):
        if repeat or state == "unknown":
            doubtful |= set(_NAME.findall(text))
    found = []
    for chat, names in day.said.items():
        texts = day.place.answers(chat)
        arrived = [match[1] for text in texts if (match := _ANSWER.search(text))]
        order = list(dict.fromkeys(arrived))
        if [name for name in names if name in order] != order:
            found.append(f"chat {chat}: {order} for {names}")
        found += [f"{name} was not answered" for name in names if name not in order and name not in doubtful]
        pieces = Counter(line for text in texts if not text.startswith(REPEAT) for line in _LINE.findall(text))
        pieces += Counter(match[0] for text in texts if not text.startswith(REPEAT) and (match := _ANSWER.search(text)))
        found += [f"chat {chat}: {piece!r} came {count} times unmarked" for piece, count in pieces.items() if count > 1]
        lines = {line for text in texts for line in _LINE.findall(text)}
        for name in (name for name in names if name.endswith("long") and name not in doubtful):
            if sum(line.endswith(f" {name}") for line in lines) != _LINES:
                found.append(f"{name} arrived in part")
        marked = [match[1] for text in texts if text.startswith(REPEAT) and (match := _ANSWER.search(text))]
        found += [f"{name} is marked as a repeat, and not in the ledger" for name in marked if name not in doubtful]
    return found


def _listed(place: Scene) -> list[str]:
    listed = place.run("retries", "list", "--limit", "1000").out
    rows = place.query("SELECT id FROM outbound WHERE repeat = 1 OR state = 'unknown'")
    return [f"d{row} is not listed" for (row,) in rows if not re.search(rf"\bd{row}\b", listed)]


def main() -> None:
    """Replay a day; exit code 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description="A day of conversations over a fake Telegram, replayed with faults.")
    parser.add_argument("--speed", type=float, default=60.0, help="how much faster than life (60: 24 minutes)")
    parser.add_argument("--chats", type=int, default=30)
    parser.add_argument("--messages", type=int, default=40, help="per chat")
    parser.add_argument("--seed", type=int, default=random.getrandbits(32))
    options = parser.parse_args()
    plan = Plan(options.chats, options.messages, DAY_SECONDS / options.speed, options.seed)
    print(plan, flush=True)
    home = Path(tempfile.mkdtemp(prefix="p", dir="/tmp"))
    try:
        with separate() as telegram, scene(home, telegram) as place:
            day = Day(place, plan)
            day.play()
            found = judge(day)
            requests = telegram.requests()
            floods = sum(request.status == 429 for request in requests)
            repeats = sum(sent.text.startswith(REPEAT) for sent in telegram.sent())
            print(f"{len(requests)} requests, {floods} answered 429, {len(telegram.sent())} messages, {repeats} marked")
    finally:
        shutil.rmtree(home)
    print(*(found or ["nothing wrong"]), sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
