"""One pass over all rows of a machine with their histories: chains, edges, counters, gaps, and the order of turns.

Owns what takes a row's whole history to judge. Instants prove nothing, since clocks jump: what happened before what is
told by the ids of the steps, which are given in the order of the commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from push.ledger.database import Database
from push.model.machines import OUTBOUND, TURN, Machine

#: (code, row, sentence)
Fault = tuple[str, str, str]

_NEVER = 1 << 63
_TOLD_EVERY = 10_000  # rows


class _Step(NamedTuple):  # made by the million, for which a frozen dataclass is too slow
    id: int
    source: str | None
    target: str
    actor: str


@dataclass(frozen=True, slots=True)
class _Life:
    """A row, the columns that its history must agree with, and its steps in order."""

    id: int
    state: str
    columns: tuple[Any, ...]
    steps: tuple[_Step, ...]

    def entered(self, state: str) -> int:
        """How often it came into a state."""
        return sum(step.target == state for step in self.steps)


def turn_faults(db: Database, watch: Callable[[str], None]) -> Iterator[Fault]:
    """What is wrong with turns and their histories; `watch` hears of it as it goes on. Inside `db.snapshot()`."""
    ended: dict[int, int] = {}  # conversation -> the last step of its earlier turns
    columns = "conversation_id, kind, attempt, interruptions, delays"
    for life in _lives(db, TURN, columns):
        if life.id % _TOLD_EVERY == 0:
            watch(f"turn {life.id:,}")
        yield from _chain_faults(TURN, life, f"turn {life.id}")
        yield from _turn_counts(life)
        conversation = life.columns[0]
        started = next((step.id for step in life.steps if step.target == "running"), _NEVER)
        if started < ended.get(conversation, 0):
            sentence = "it began before an earlier message of its conversation had ended"
            yield "turn_order", f"turn {life.id}", sentence
        last = _NEVER if life.state in TURN.open or not life.steps else life.steps[-1].id
        ended[conversation] = max(last, ended.get(conversation, 0))
    yield from _gaps(db, "turn", ("turn_missing", "turns"))


def delivery_faults(db: Database, watch: Callable[[str], None]) -> Iterator[Fault]:
    """As `turn_faults`, for outbound rows."""
    for life in _lives(db, OUTBOUND, "attempt, repeat"):
        if life.id % _TOLD_EVERY == 0:
            watch(f"delivery {life.id:,}")
        yield from _chain_faults(OUTBOUND, life, f"delivery {life.id}")
        attempt, repeat = life.columns
        sent = life.entered("sending")
        resent = any((step.source, step.target) == ("unknown", "waiting") for step in life.steps)
        if attempt != sent or bool(repeat) != resent:
            told = f"it counts {attempt} attempts {_marked(repeat)} as a repeat"
            sentence = f"{told}; its history has {sent} attempts, {_marked(resent)} as one"
            yield "delivery_counts", f"delivery {life.id}", sentence
    yield from _gaps(db, "outbound", ("delivery_missing", "deliveries"))


def _marked(flag: object) -> str:
    return "marked" if flag else "not marked"


def _lives(db: Database, machine: Machine, columns: str) -> Iterator[_Life]:
    own = ", ".join(f"r.{name}" for name in columns.split(", "))
    rows = db.each(
        f"SELECT r.id, r.state, h.id, h.source, h.target, h.actor, {own} FROM {machine.name} r "
        f"LEFT JOIN transition h ON h.machine = '{machine.name}' AND h.row_id = r.id ORDER BY r.id, h.id"
    )
    for _, group in groupby(rows, itemgetter(0)):
        lines = list(group)
        first = lines[0]
        steps = tuple(_Step._make(line[2:6]) for line in lines if line[2] is not None)
        yield _Life(first[0], first[1], first[6:], steps)


def _chain_faults(machine: Machine, life: _Life, who: str) -> Iterator[Fault]:
    """One unbroken chain of allowed steps, from a birth to the state in which the row is."""
    if not life.steps:
        yield "history_missing", who, "it has no history"
        return
    before: str | None = None
    for step in life.steps:
        here = f"step {step.id} of its history"
        if step.source != before:
            came = f"{here} starts from {step.source or 'a birth'}"
            yield "history_chain", who, f"{came}, but what came before it led to {before or 'nothing'}"
        if step.source is None:
            if step.target not in machine.first:
                yield "history_edge", who, f"{here} is a birth as {step.target}, which is none"
        elif not machine.allows(step.source, step.target, step.actor):
            edge = f"from {step.source} to {step.target} by {step.actor}"
            yield "history_edge", who, f"{here}, {edge}, is not in the table of transitions"
        before = step.target
    if before != life.state:
        yield "history_end", who, f"it is {life.state}, but its history ends with {before}"


def _turn_counts(life: _Life) -> Iterator[Fault]:
    """A run that did nothing (a lost session) is an attempt without a step; a command of the gateway has no runs."""
    _, kind, attempt, interruptions, delays = life.columns
    runs = life.entered("running")
    fits = attempt == 0 if kind == "command" or not runs else attempt >= runs
    stops = (life.entered("interrupted"), life.entered("waiting"))
    if not fits or stops != (interruptions, delays):
        told = f"it counts {attempt} runs, {interruptions} interruptions and {delays} delays"
        sentence = f"{told}; its history has {runs} starts, {stops[0]} interruptions and {stops[1]} delays"
        yield "turn_counts", f"turn {life.id}", sentence


def _gaps(db: Database, table: str, names: tuple[str, str]) -> Iterator[Fault]:
    """Ids are given without gaps: an insert that fails gives none back. What is missing was deleted."""
    code, who = names
    before = 0
    for (number,) in db.each(f"SELECT id FROM {table} ORDER BY id"):
        if number > before + 1:
            yield code, f"{who} {before + 1} to {number - 1}", "these ids were given, but the rows are not there"
        before = number
    given = db.one("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
    last = int(given[0]) if given else 0
    if last > before:
        yield code, f"{who} {before + 1} to {last}", "these ids were given, but the rows are not there"
    elif last < before:
        yield code, f"{who} up to {before}", f"rows are there beyond the last id that was given, {last}"
