"""The transition tables of DESIGN.md 5: which state may follow which, and who may say so.

Owns the tables; does not own rows (`push.ledger` applies a transition only where the row still is in `from`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Who asks for a transition: `channel` (intake), `worker` (a consumer's task), `recovery` (whoever finds what a
#: killed process left), `sender` (delivery), `operator` (a person), `scheduler`.
Actor = str


@dataclass(frozen=True, slots=True)
class Machine:
    """One state machine. `edges` holds (from, to, actor); `first` are the states in which a row may be born."""

    name: str
    states: tuple[str, ...]
    first: frozenset[str]
    open: frozenset[str]
    edges: frozenset[tuple[str, str, Actor]]

    def allows(self, source: str, target: str, by: Actor) -> bool:
        """Whether `by` may move a row from `source` to `target`."""
        return (source, target, by) in self.edges


def _machine(name: str, states: str, first: str, live: str, edges: str) -> Machine:
    """Build a machine from lines of `from[|from] -> to[|to] : actor[, actor]`."""
    parsed = set()
    for line in edges.strip().splitlines():
        arrow, _, actors = line.partition(":")
        sources, _, targets = arrow.partition("->")
        for source in sources.split("|"):
            for target in targets.split("|"):
                for actor in actors.split(","):
                    parsed.add((source.strip(), target.strip(), actor.strip()))
    return Machine(name, tuple(states.split()), frozenset(first.split()), frozenset(live.split()), frozenset(parsed))


#: One accepted message and its handling. `running -> answered` by `recovery` is a harvest. `queued -> queued` is no
#: change but of hands: held back in a restored copy (by recovery or the channel), released (by the operator).
TURN: Final = _machine(
    "turn",
    "queued running waiting interrupted answered failed cancelled merged",
    "queued",
    "queued running waiting interrupted",
    """
    queued -> running : worker
    running -> answered | failed | cancelled : worker, recovery
    running -> waiting : worker
    waiting -> queued : worker, operator
    running -> interrupted : worker, recovery
    interrupted -> queued : worker, recovery
    queued -> cancelled : operator, worker
    queued -> failed : worker
    queued -> merged : channel
    queued -> queued : recovery, channel, operator
    """,
)

#: One reply or notice on its way out. `pending -> unknown`: in a restored copy, the original may have sent it.
OUTBOUND: Final = _machine(
    "outbound",
    "pending sending waiting unknown delivered failed dropped",
    "pending",
    "pending sending waiting",
    """
    pending | waiting -> sending : sender
    sending -> delivered | waiting | failed : sender
    sending -> unknown : sender, recovery
    pending | waiting -> unknown : recovery
    unknown -> waiting : sender, operator
    waiting -> failed : sender
    pending | waiting | failed | unknown -> dropped : operator
    failed -> waiting : operator
    """,
)

#: One run of a runbook (a scheduled or manual job).
RUN: Final = _machine(
    "run",
    "queued running succeeded failed timed_out interrupted cancelled skipped_overlap",
    "queued skipped_overlap",
    "queued running",
    """
    queued -> running : worker
    running -> succeeded | failed | timed_out | cancelled : worker, recovery
    running -> interrupted : recovery
    queued -> cancelled : operator, worker
    """,
)

#: One question that a workflow asks the owner.
QUESTION: Final = _machine(
    "question",
    "pending answered consumed expired cancelled",
    "pending",
    "pending answered",
    """
    pending -> answered : channel
    answered -> consumed : worker
    pending -> expired : scheduler, worker
    pending -> cancelled : operator, worker
    """,
)

#: One change to a runbook that an agent proposes.
PROPOSAL: Final = _machine(
    "proposal",
    "proposed installed rejected invalidated failed expired",
    "proposed",
    "proposed",
    """
    proposed -> installed | invalidated | failed : worker
    proposed -> rejected : channel
    proposed -> expired : scheduler
    """,
)

MACHINES: Final = {machine.name: machine for machine in (TURN, OUTBOUND, RUN, QUESTION, PROPOSAL)}
