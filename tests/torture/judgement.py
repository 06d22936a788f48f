"""What a torture run came to, from the agent's diary, the screens and the database."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

from tests.crash import verdict
from tests.torture.scene import Scene


@dataclass(frozen=True, slots=True)
class Judgement:
    """Counts of what must be zero, then of what is only told, then findings in words.

    `stranded` are accepted and not ended; `lost` were answered and never printed; `repeated` were printed again
    without a mark; `disordered` ran or were printed before an earlier one; `rerun` ran again although nobody killed
    their run; `overlapping` began while another run of the conversation was at work.
    """

    stranded: int
    lost: int
    repeated: int
    disordered: int
    rerun: int
    overlapping: int
    failed: int
    marked: int
    interrupted: int
    unknown: int
    findings: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        faults = (self.stranded, self.lost, self.repeated, self.disordered, self.rerun, self.overlapping, self.failed)
        return not any(faults) and not self.findings


Message = tuple[str, int]


def judge(scene: Scene) -> Judgement:
    """Judge a scene that is over."""
    rows = scene.site.turns()
    texts = {row.id: row.text for row in rows}
    killed = {_message(texts[int(run[1:].partition("-")[0])]) for run in scene.record.killed_runs}
    begun = _begun(scene)
    printed = _printed(scene)
    answered = {_message(row.text) for row in rows if row.state == "answered"}
    unknown = {_message(row.text) for row in rows if row.outbound == "unknown"}
    runs = Counter(begun)
    return Judgement(
        stranded=scene.plan.expected - sum(row.state in {"answered", "failed"} for row in rows),
        lost=len(answered - {message for message, _ in printed} - unknown),
        repeated=_repeated(printed),
        disordered=_disordered(begun) + _disordered([message for message, _ in printed]),
        rerun=sum(count > 1 + (message in killed) for message, count in runs.items()),
        overlapping=_lines(scene, "overlap"),
        failed=sum(row.state == "failed" for row in rows),
        marked=sum(repeat for _, repeat in printed),
        interrupted=sum(row.interruptions for row in rows),
        unknown=len(unknown),
        findings=tuple(verdict.findings(scene.site)),
    )


def _message(text: str) -> Message:
    conversation, number = text.split()
    return conversation, int(number)


def _begun(scene: Scene) -> list[Message]:
    return [_message(entry.removeprefix("begin ")) for entry in scene.site.entries() if entry.startswith("begin ")]


def _lines(scene: Scene, word: str) -> int:
    return sum(entry.startswith(f"{word} ") for entry in scene.site.entries())


def _printed(scene: Scene) -> list[tuple[Message, bool]]:
    if not scene.printed.exists():
        return []
    lines = [json.loads(line) for line in scene.printed.read_text().splitlines()]
    return [(_message(line["text"].removeprefix("re: ")), line["repeat"]) for line in lines if "re: " in line["text"]]


def _repeated(printed: list[tuple[Message, bool]]) -> int:
    seen: set[Message] = set()
    count = 0
    for message, repeat in printed:
        count += message in seen and not repeat
        seen.add(message)
    return count


def _disordered(messages: list[Message]) -> int:
    """How often a conversation's number is lower than the one before it."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for conversation, number in messages:
        numbers[conversation].append(number)
    return sum(b < a for each in numbers.values() for a, b in pairwise(each))
