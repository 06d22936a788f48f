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
from push.ledger.outbox import PACED
from push.model.machines import OUTBOUND, TURN, Machine

#: (code, row, sentence)
Fault = tuple[str, str, str]

_NEVER = 1 << 63
_DECIDED = ("delivered", "failed", "unknown")
_TOLD_EVERY = 10_000  # rows


class _Step(NamedTuple):  # made by the million, for which a frozen dataclass is too slow
    id: int
    source: str | None
    target: str
    actor: str
    reason: str | None


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

    @property
    def was_held(self) -> bool:
        """Whether others may have passed it: it waited for a person in a restored copy, or does."""
        return any(step.source == step.target for step in self.steps)


def turn_faults(db: Database, watch: Callable[[str], None]) -> Iterator[Fault]:
    """What is wrong with turns and their histories; `watch` hears of it as it goes on. Inside `db.snapshot()`."""
    orders: dict[int, _Order] = {}  # conversation -> what is known of its earlier turns
    columns = "conversation_id, kind, attempt, interruptions, delays, lane, ahead, held_at"
    for life in _lives(db, TURN, columns):
        if life.id % _TOLD_EVERY == 0:
            watch(f"turn {life.id:,}")
        yield from _chain_faults(TURN, life, f"turn {life.id}")
        yield from _turn_counts(life)
        if (
            life.columns[5] == "turns"
            and not life.was_held
            and not orders.setdefault(life.columns[0], _Order()).holds(life)
        ):
            sentence = "it was worked on before a message of its conversation that goes before it had ended"
            yield "turn_order", f"turn {life.id}", sentence
    yield from _gaps(db, "turn", ("turn_missing", "turns"))


class _Order:
    """The turns of a conversation come one after the other, and none before one that was accepted earlier.

    One that goes ahead of others (`/now`) may come before earlier ones that had not begun.
    """

    def __init__(self) -> None:
        self._ended = 0  # the last step of all earlier turns
        self._ended_ahead = 0  # of those that went ahead
        self._spans: list[tuple[int, int]] = []  # of the others, as far as a later one may still overlap them
        self._many = 64

    def holds(self, life: _Life) -> bool:
        """Whether the next turn, in the order of the ids, came when it might."""
        ahead = life.columns[6]
        born = life.steps[0].id if life.steps else 0
        start = next((step.id for step in life.steps if step.target == "running"), _NEVER)
        end = _NEVER if life.state in TURN.open or not life.steps else life.steps[-1].id
        if len(self._spans) > self._many:  # of those that ended before this one came, none matters any more
            self._spans = [span for span in self._spans if span[1] > born]
            self._many = 2 * len(self._spans) + 64
        if ahead:
            holds = start >= self._ended_ahead and not any(begun < end and start < over for begun, over in self._spans)
            self._ended_ahead = max(end, self._ended_ahead)
        else:
            holds = start >= max(self._ended, self._ended_ahead)
            self._ended = max(end, self._ended)
            if start < _NEVER:
                self._spans.append((start, end))
        return holds


def delivery_faults(db: Database, watch: Callable[[str], None]) -> Iterator[Fault]:
    """As `turn_faults`, for outbound rows."""
    for life in _lives(db, OUTBOUND, "attempt, delays, repeat, requeued_at"):
        if life.id % _TOLD_EVERY == 0:
            watch(f"delivery {life.id:,}")
        yield from _chain_faults(OUTBOUND, life, f"delivery {life.id}")
        yield from _delivery_counts(life)
    yield from _gaps(db, "outbound", ("delivery_missing", "deliveries"))


def _delivery_counts(life: _Life) -> Iterator[Fault]:
    """An attempt is what the service decided, or nobody knows; a delay was proven not to have been sent.

    Both lead back to `waiting`, where a delivery that a person sends again begins to count anew (one of an earlier
    version did not). A pause between two parts is neither.
    """
    attempt, delays, repeat, requeued_at = life.columns
    steps = life.steps if requeued_at is None else _since_sent_again(life.steps)
    decided = sum(step.source == "sending" and step.target in _DECIDED for step in steps)
    put_off = sum((step.source, step.target) == ("sending", "waiting") and step.reason != PACED for step in steps)
    if attempt < decided or attempt + delays != decided + put_off:
        told = f"it counts {attempt} attempts and {delays} delays"
        sentence = f"{told}; its history has {decided} that were decided, and {put_off} that were put off"
        yield "delivery_counts", f"delivery {life.id}", sentence
    resent = any((step.source, step.target) == ("unknown", "waiting") for step in life.steps)
    if bool(repeat) != resent:
        sentence = f"it is {_marked(repeat)} as a repeat; its history has {_marked(resent)} one"
        yield "delivery_counts", f"delivery {life.id}", sentence


def _since_sent_again(steps: tuple[_Step, ...]) -> tuple[_Step, ...]:
    for number in range(len(steps), 0, -1):
        if (steps[number - 1].target, steps[number - 1].actor) == ("waiting", "operator"):
            return steps[number:]
    return steps


def _marked(flag: object) -> str:
    return "marked" if flag else "not marked"


def _lives(db: Database, machine: Machine, columns: str) -> Iterator[_Life]:
    own = ", ".join(f"r.{name}" for name in columns.split(", "))
    rows = db.each(
        f"SELECT r.id, r.state, h.id, h.source, h.target, h.actor, h.reason, {own} FROM {machine.name} r "
        f"LEFT JOIN transition h ON h.machine = '{machine.name}' AND h.row_id = r.id ORDER BY r.id, h.id"
    )
    for _, group in groupby(rows, itemgetter(0)):
        lines = list(group)
        first = lines[0]
        steps = tuple(_Step._make(line[2:7]) for line in lines if line[2] is not None)
        yield _Life(first[0], first[1], first[7:], steps)


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
    _, kind, attempt, interruptions, delays, _, _, held_at = life.columns
    runs = life.entered("running")
    fits = attempt == 0 if kind == "command" or not runs else attempt >= runs
    stops = (life.entered("interrupted"), life.entered("waiting"))
    if not fits or stops != (interruptions, delays):
        told = f"it counts {attempt} runs, {interruptions} interruptions and {delays} delays"
        sentence = f"{told}; its history has {runs} starts, {stops[0]} interruptions and {stops[1]} delays"
        yield "turn_counts", f"turn {life.id}", sentence
    hands = [step.actor for step in life.steps if step.source == step.target]
    if (held_at is not None) != (bool(hands) and hands[-1] != "operator" and life.state == "queued"):
        said = "held" if held_at is not None else "not held"
        yield "turn_held", f"turn {life.id}", f"it is {said}, which its history does not say"


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
