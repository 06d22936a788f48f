"""Histories that Hypothesis thinks up, through the ledger's own functions, on a real database.

After each, every step stands in its table, nothing contradicts itself (`push.ledger.verify`), and a move that the table
or the row's state does not allow has changed nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from push.ledger import arrivals, held, outbox, retries, turns
from push.ledger.database import Database
from push.ledger.moves import StaleRow, move
from push.ledger.verify import verify
from push.model.machines import OUTBOUND, TURN, Machine
from push.model.values import Duplicate, Merged, Outbound, Turn
from tests.ledger import lives

USERS = st.sampled_from(("ann", "bob"))
MACHINES = st.sampled_from((TURN, OUTBOUND))
ACTORS = ("channel", "worker", "recovery", "sender", "operator", "scheduler")


class Ledger(RuleBasedStateMachine):
    """What workers, senders and persons may do, in any order and to any row."""

    accepted = Bundle("accepted")
    answered = Bundle("answered")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.db = Database.open(self.folder / "push.db")

    def teardown(self) -> None:
        proof = verify(self.db, {}, (), lambda what: None)
        self.db.close()
        shutil.rmtree(self.folder)
        assert proof.damages == ()

    # -- messages and their runs ---------------------------------------------------------------------------------

    @rule(target=accepted, user=USERS, kind=st.sampled_from(("message", "message", "command")), ahead=st.booleans())
    def come_in(self, user: str, kind: str, *, ahead: bool) -> Turn:
        return lives.accept(self.db, replace(lives.message(user, kind=kind), ahead=ahead and kind == "message"))

    @rule(user=USERS)
    def ask_at_once(self, user: str) -> None:
        lives.accept(self.db, replace(lives.message(user, "/status", "command"), lane="control"))

    @rule(user=USERS)
    def paste(self, user: str) -> None:
        """A long text in two pieces."""
        lead = lives.accept(self.db, lives.message(user, "x" * arrivals.FULL_UNITS))
        outcome = arrivals.accept(self.db, replace(lives.message(user, "the rest"), joins=True))
        assert outcome == Merged(lead.id, lead.conversation_id)

    @rule(turn=accepted)
    def edit(self, turn: Turn) -> None:
        """Only what no agent has seen is changed."""
        before = lives.now(self.db, turn.id)
        number = len(arrivals.revisions(self.db, turn.id))
        with self.db.write():
            self.db.execute("UPDATE turn SET message_ref = ? WHERE id = ?", (f"m{turn.id}", turn.id))
        done = arrivals.edit(self.db, "local", (f"m{turn.id}", turn.sender, f"{before.text}!"))
        waits = (before.state, before.attempt, before.kind) == ("queued", 0, "message")
        assert (done is not None, len(arrivals.revisions(self.db, turn.id)) - number) == (waits, int(waits))

    @rule(target=answered)
    def come_in_and_be_answered(self) -> Outbound:
        return lives.answered(self.db, "cyd", "one", "two")

    @rule(turn=accepted)
    def come_in_again(self, turn: Turn) -> None:
        event = self.db.one("SELECT event_id FROM turn WHERE id = ?", (turn.id,))
        assert event is not None
        outcome = arrivals.accept(self.db, replace(lives.message("ann"), event_id=event[0]))
        assert outcome == Duplicate(turn.id, turn.conversation_id)

    @rule(user=USERS)
    def answer_at_once(self, user: str) -> None:
        row = self.db.one("SELECT id FROM conversation WHERE key = ?", (f"local:{user}",))
        turn = turns.control_head(self.db, int(row[0])) if row else None
        if turn is not None:
            turns.answer_command(self.db, turn, lives.rendered("all is well"))

    @rule(user=USERS, data=st.data())
    def work(self, user: str, data: st.DataObject) -> None:
        """One step of the conversation's head, as a worker would take it."""
        row = self.db.one("SELECT id FROM conversation WHERE key = ?", (f"local:{user}",))
        turn = turns.head(self.db, int(row[0])) if row else None
        if turn is None:
            return
        if turn.state == "waiting":
            turns.resume_waiting(self.db, turn, "worker")
        elif turn.kind == "command":
            turns.answer_command(self.db, turn, lives.rendered("done"))
        elif turn.state == "queued":
            data.draw(st.sampled_from((self._start, self._fail_unstarted, self._postpone)), "queued")(turn)
        else:
            ends = (
                self._answer,
                self._fail,
                self._cancel,
                self._interrupt,
                self._delay,
                self._start_again,
                self._postpone,
            )
            data.draw(st.sampled_from(ends), "running")(turn)

    def _start(self, turn: Turn) -> None:
        turns.start(self.db, turn, lives.PLAN)

    def _start_again(self, turn: Turn) -> None:
        turns.start_again(self.db, turn, lives.PLAN)

    def _answer(self, turn: Turn) -> None:
        turns.answer(self.db, turn, turns.Reply(lives.rendered("one", "two")), "recovery")

    def _fail(self, turn: Turn) -> None:
        lives.fail(self.db, turn)

    def _fail_unstarted(self, turn: Turn) -> None:
        lives.fail(self.db, turn, "configuration")

    def _cancel(self, turn: Turn) -> None:
        turns.cancel(self.db, turn, "worker")

    def _interrupt(self, turn: Turn) -> None:
        turns.interrupt(self.db, turn, "recovery")

    def _delay(self, turn: Turn) -> None:
        turns.delay(self.db, turn, "in_use", 1)

    def _postpone(self, turn: Turn) -> None:
        turns.postpone(self.db, turn, "disk_full", 1)

    # -- persons -------------------------------------------------------------------------------------------------

    @rule(turn=accepted)
    def cancel(self, turn: Turn) -> None:
        turn = lives.now(self.db, turn.id)
        if turn.state == "queued":
            turns.cancel(self.db, turn, "operator")
        else:
            with pytest.raises((StaleRow, ValueError)):
                turns.cancel(self.db, turn, "operator")

    @rule(turn=accepted)
    def make_due(self, turn: Turn) -> None:
        is_open = lives.state_of(self.db, "turn", turn.id) in TURN.open
        assert turns.now_due(self.db, turn.id) == is_open

    @rule(turn=accepted)
    def dismiss(self, turn: Turn) -> None:
        failed = lives.state_of(self.db, "turn", turn.id) == "failed"
        listed = f"t{turn.id}" in {row.id for row in retries.waiting_or_failed(self.db, 100) if row.state == "failed"}
        assert listed <= failed
        assert (retries.dismiss_turn(self.db, turn.id) is retries.Done.DONE) == listed

    @rule(row=answered)
    def send_again(self, row: Outbound) -> None:
        expected = {
            "failed": ("DONE", "waiting"),
            "unknown": ("DONE", "waiting"),
            "sending": ("UNDER_WAY", "sending"),
            "delivered": ("OVER", "delivered"),
            "dropped": ("OVER", "dropped"),
        }
        before = lives.state_of(self.db, "outbound", row.id)
        done = retries.send_again(self.db, row.id)
        assert (done.name, lives.state_of(self.db, "outbound", row.id)) == expected.get(before, ("DONE", before))

    @rule(row=consumes(answered))
    def drop(self, row: Outbound) -> None:
        listed = outbox.get(self.db, row.id).repeat  # a possible repeat that arrived leaves the list
        expected = {"sending": ("UNDER_WAY", "sending"), "delivered": ("DONE" if listed else "OVER", "delivered")}
        before = lives.state_of(self.db, "outbound", row.id)
        done = retries.drop_delivery(self.db, row.id)
        assert (done.name, lives.state_of(self.db, "outbound", row.id)) == expected.get(before, ("DONE", "dropped"))
        assert retries.drop_delivery(self.db, row.id) is not retries.Done.DONE

    # -- senders -------------------------------------------------------------------------------------------------

    @rule(row=answered, outcome=st.sampled_from(("unknown", "hold", "part", "refused", "failed", "not_sent")))
    def send(self, row: Outbound, outcome: str) -> None:
        row = outbox.get(self.db, row.id)
        if row.state not in {"pending", "waiting", "sending"}:
            return
        if row.state != "sending":
            row = lives.sending(self.db, row)
        sequence = next(part.seq for part in row.parts if not part.delivered)
        match outcome:
            case "part":
                outbox.part_delivered(self.db, row, sequence, "r")
            case "not_sent":
                outbox.not_sent(self.db, row, "offline", 1)
            case "refused":
                outbox.try_again(self.db, row, "500", 1)
            case "unknown":
                outbox.unknown(self.db, row, sequence, "timeout", "recovery")
            case "hold":
                outbox.hold(self.db, row, "timeout", "sender")
            case "failed":
                outbox.end(self.db, row, "failed", "blocked")

    # -- a restored copy -----------------------------------------------------------------------------------------

    @rule(user=USERS)
    def be_restored(self, user: str) -> None:
        """What is open is held; others pass it until it is released."""
        with self.db.write():
            self.db.execute("UPDATE conversation SET paused_at = NULL")
        held.hold_everything(self.db)
        assert not any((turns.open_conversations(self.db), outbox.open_targets(self.db), turns.open_controls(self.db)))
        lives.answered(self.db, user)
        found = held.count(self.db)
        assert held.release_everything(self.db, lambda _: None) == found
        assert held.count(self.db).rows == 0

    # -- what is not allowed -------------------------------------------------------------------------------------

    @rule(machine=MACHINES, data=st.data(), actor=st.sampled_from(ACTORS))
    def try_any_move(self, machine: Machine, data: st.DataObject, actor: str) -> None:
        """A move that is no edge is refused, and so is one from a state in which the row is not."""
        rows = self.db.rows(f"SELECT id, state FROM {machine.name}")
        if not rows:
            return
        number, state = data.draw(st.sampled_from(rows), "row")
        source, target = (data.draw(st.sampled_from(machine.states), name) for name in ("source", "target"))
        edge = (source, target, actor)
        if edge in machine.edges and source == state:
            return
        before = self._all(machine, number)
        with pytest.raises(StaleRow if edge in machine.edges else ValueError), self.db.write():
            move(self.db, machine, number, edge)
        assert self._all(machine, number) == before

    def _all(self, machine: Machine, number: int) -> list[tuple[object, ...]]:
        history = "SELECT * FROM transition WHERE machine = ? AND row_id = ?"
        return self.db.rows(f"SELECT * FROM {machine.name} WHERE id = ?", (number,)) + self.db.rows(
            history, (machine.name, number)
        )

    @invariant()
    def only_edges_of_the_tables_happened(self) -> None:
        for machine in (TURN, OUTBOUND):
            steps = self.db.rows("SELECT source, target, actor FROM transition WHERE machine = ?", (machine.name,))
            assert {tuple(step) for step in steps if step[0] is not None} <= machine.edges
            births = self.db.rows(f"SELECT id FROM {machine.name}")
            assert len(births) == sum(step[0] is None for step in steps)


TestLedger = Ledger.TestCase
TestLedger.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
