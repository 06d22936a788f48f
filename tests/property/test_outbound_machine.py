"""Deliveries that Hypothesis thinks up: what a service may say, who may be killed, and what persons may do meanwhile.

After any of it, against a model that knows what the service took: nothing is lost, nothing is sent a second time
without a mark, parts come in their order, rows of a target in theirs, and the ledger proves itself.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from freezegun import freeze_time
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from push import clock
from push.delivery.sending import Ended, Policy, Sender, Waits
from push.ledger import outbox, retries
from push.ledger.database import Database
from push.ledger.verify import verify
from push.model.values import Delivered, NotSent, Outbound, Pace, Part, Refused, SendOutcome, Unknown
from tests.ledger import lives

TARGETS = st.sampled_from(("ann", "bob"))
PACES = {name: (Pace(name, ((1, 1.0), (3, 10.0))), Pace("", ((2, 1.0),))) for name in ("ann", "bob")}
Mood = SendOutcome | str
MOODS: tuple[Mood, ...] = (
    Delivered("r"),
    Delivered("r"),
    Delivered("r"),
    NotSent("offline"),
    NotSent("429", 5.0),
    Refused("blocked"),
    Refused("500", final=False),
    Unknown("timeout"),
    "killed before",
    "killed after",
)
MOODS_OF_A_WHILE = st.lists(st.sampled_from(MOODS), min_size=1, max_size=5)
ONCE, HOLD = Policy(60, resend_unknown=True), Policy(60, resend_unknown=False)
POLICIES = st.sampled_from((ONCE, ONCE, ONCE, HOLD))


class Killed(BaseException):
    """The sender's process is gone."""


class Deliveries(RuleBasedStateMachine):
    """One ledger, two targets, a service with moods."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.time = freeze_time("2026-03-01T12:00:00Z")
        self.now = self.time.start()
        self.db = Database.open(self.folder / "push.db")
        self.taken: list[tuple[int, int]] = []  # what the service took, in its order: (row, part)
        self.certain: set[tuple[int, int]] = set()  # of these, what it told us
        self.asked: dict[tuple[int, int], list[str]] = {}  # the notes with which each part was sent
        self.repeatable: dict[tuple[int, int], int] = {}  # how often a part's outcome was unknown
        self.wished: dict[tuple[int, int], int] = {}  # how often a person wanted it again all the same
        self.paused: dict[str, int] = {}
        self.sends: dict[str, list[int]] = {"ann": [], "bob": [], "": []}

    def teardown(self) -> None:
        """In the end the service is well: everything arrives, or stands on the list with a reason."""
        for _ in range(100):
            if not outbox.open_targets(self.db):
                break
            self.now.tick(61)
            for user in PACES:
                self._step(user, Policy(math.inf, resend_unknown=True), lambda: Delivered("r"))
        listed = {row.number for row in retries.waiting_or_failed(self.db, 1000) if row.kind == "delivery"}
        states = {row.id: row.state for row in self._rows()}
        proof = verify(self.db, {}, (), lambda what: None)
        self.db.close()
        self.time.stop()
        shutil.rmtree(self.folder)
        assert all(state in {"delivered", "dropped"} or number in listed for number, state in states.items())
        assert proof.damages == ()

    # -- what happens --------------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.answer("ann", 2)
        self.answer("bob", 1)

    @rule(user=TARGETS, parts=st.integers(1, 3))
    def answer(self, user: str, parts: int) -> None:
        lives.answered(self.db, user, *(f"part {number}" for number in range(parts)))

    @rule(seconds=st.sampled_from((0.1, 1.0, 70.0)))
    def wait(self, seconds: float) -> None:
        self.now.tick(seconds)

    @rule(user=TARGETS, policy=POLICIES, seconds=st.sampled_from((0.0, 3.0, 13.0, 13.0)), moods=MOODS_OF_A_WHILE)
    def work(self, user: str, policy: Policy, seconds: float, moods: list[Mood]) -> None:
        """Some steps of the target's first row, as a worker takes them, each after a while."""
        left = list(moods)
        for _ in moods:
            self.now.tick(seconds)
            self._step(user, policy, lambda: left.pop() if left else Delivered("r"))

    def _step(self, user: str, policy: Policy, draw: Callable[[], Mood]) -> None:
        row = outbox.head(self.db, "local", user, 0)
        if row is None or (row.not_before or 0) > clock.now_ms():
            return
        try:
            outcome = Sender(self.db, policy, _Service(self, row, draw), PACES[user]).send(row)
        except Killed:
            return
        after = outbox.get(self.db, row.id)
        if isinstance(outcome, Ended):
            assert outcome.delivered == (after.state == "delivered")
            assert after.state in {"delivered", "failed", "unknown"}
        else:
            assert isinstance(outcome, Waits)
            assert after.state in {"waiting", row.state}

    @rule(data=st.data(), wish=st.sampled_from((retries.send_again, retries.drop_delivery)))
    def wish(self, data: st.DataObject, wish: object) -> None:
        """A person sends something again, or gives it up."""
        number = data.draw(st.sampled_from([row for (row,) in self.db.rows("SELECT id FROM outbound")]), "row")
        before = lives.state_of(self.db, "outbound", number)
        assert callable(wish)
        wish(self.db, number)
        if before == "unknown" and wish is retries.send_again:
            row = outbox.get(self.db, number)
            part = next(part.seq for part in row.parts if not part.delivered)
            self.repeatable[number, part] = self.repeatable.get((number, part), 0) + 1
            self.wished[number, part] = self.wished.get((number, part), 0) + 1

    # -- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def what_the_service_confirmed_is_never_sent_again(self) -> None:
        for part in self.certain:
            assert self.taken.count(part) - 1 <= self.repeatable.get(part, 0)
            row = outbox.get(self.db, part[0])
            assert row.parts[part[1]].delivered

    @invariant()
    def nothing_is_delivered_that_the_service_did_not_take(self) -> None:
        for row in self._rows():
            for part in row.parts:
                assert not part.delivered or (row.id, part.seq) in self.certain
            if row.state == "delivered":
                assert all(part.delivered for part in row.parts)

    @invariant()
    def parts_come_in_their_order(self) -> None:
        firsts: dict[int, list[int]] = {}
        for number, part in self.taken:
            if part not in firsts.setdefault(number, []):
                firsts[number].append(part)
        assert all(parts == sorted(parts) for parts in firsts.values())

    @invariant()
    def a_possible_repeat_is_marked(self) -> None:
        for part, notes in self.asked.items():
            sent = self.taken.count(part)
            assert sent <= 1 + self.repeatable.get(part, 0)
            assert sent - sum("repeat" in note for note in notes) <= 1
            assert sent <= 1 or outbox.get(self.db, part[0]).repeat

    @invariant()
    def a_second_unknown_outcome_is_the_last(self) -> None:
        for part, times in self.repeatable.items():
            assert times - self.wished.get(part, 0) <= 2 + self.wished.get(part, 0)

    @invariant()
    def no_budget_is_exceeded_and_no_pause_broken(self) -> None:
        for target, paces in PACES.items():
            for budget in paces:
                sends = self.sends[budget.key]
                for count, seconds in budget.limits:
                    pairs = zip(sends, sends[count:], strict=False)
                    assert all(later - first >= seconds * 1000 for first, later in pairs), (target, budget)

    def _rows(self) -> list[Outbound]:
        return [outbox.get(self.db, number) for (number,) in self.db.rows("SELECT id FROM outbound")]


class _Service:
    """The service, for one row that is being sent."""

    def __init__(self, world: Deliveries, row: Outbound, draw: Callable[[], Mood]) -> None:
        self._world, self._row, self._draw = world, row, draw

    def __call__(self, sequence: int, _part: Part, note: str) -> SendOutcome:
        world, part, now = self._world, (self._row.id, sequence), clock.now_ms()
        assert world.paused.get(self._row.target, 0) <= now, "sent into a pause"
        assert lives.state_of(world.db, "outbound", self._row.id) == "sending"
        for key in (self._row.target, ""):
            world.sends[key].append(now)
        world.asked.setdefault(part, []).append(note)
        outcome = self._draw()
        match outcome:
            case "killed before":
                world.repeatable[part] = world.repeatable.get(part, 0) + 1
                raise Killed
            case "killed after" | Unknown():
                world.repeatable[part] = world.repeatable.get(part, 0) + 1
                world.taken.append(part)
                if outcome == "killed after":
                    raise Killed
            case Delivered():
                world.taken.append(part)
                world.certain.add(part)
            case NotSent(retry_after=float(seconds)):
                world.paused[self._row.target] = now + int(seconds * 1000)
        assert not isinstance(outcome, str)
        return outcome


TestDeliveries = Deliveries.TestCase
TestDeliveries.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
