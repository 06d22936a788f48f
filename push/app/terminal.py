"""The terminal's side of a chat: commit what is typed, print the answers, start a consumer where none lives.

An answer is delivered when a terminal printed it: the one that asked, while it lives, else the next of that user.
Does not own the screen (`push.cli.chat`).
"""

from __future__ import annotations

import logging
import math
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from push import clock
from push.agents import process
from push.app.consumer import Consumer, leave
from push.delivery.sending import Policy, Sender, Waits
from push.errors import ConflictError
from push.gateway import cancelling, intake
from push.ledger import conversations, outbox, turns
from push.ledger.moves import StaleRow
from push.locks import FileLock
from push.model.machines import TURN
from push.model.values import Outbound, Turn
from push.providers import local
from push.tasks import deliver, roles, wake
from push.tasks.bells import Bells
from push.tasks.drain import is_due
from push.tasks.turns import Gear

_LOOK_SECONDS = 1.0
_TAKE_OVER_SECONDS = 3.0
#: An answer waits for the next terminal, however long.
_POLICY = Policy(expire_after=math.inf, resend_unknown=True)
_REST_SECONDS = 30.0  # a new answer rings; only the death of the terminal that it was for does not

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Printed:
    """An answer that goes to the screen, after a note where there is one. `own`: it was asked for here, and now."""

    text: str
    own: bool
    committed_at: int
    note: str


class Terminal:
    """One terminal of one user. `show` prints an answer and raises OSError where nobody reads any more."""

    def __init__(self, gear: Gear, user: str, show: Callable[[Printed], None]) -> None:
        home = gear.settings.home
        if process.caller_is_agent(home.spool):
            raise ConflictError(
                "an agent's run cannot open a terminal of its own gateway",
                why="its messages would be taken for the owner's, who has a terminal of their own",
                hint="push turns list",
                code="caller_is_agent",
            )
        local.conversation(user)
        self._gear = gear
        self._user = user
        self._show = show
        self._token = local.new_token()
        self._listener = wake.Listener(home.run, f"{local.desk(user)}.{self._token}", _LOOK_SECONDS)
        self._bells = Bells(home)
        self._consumer: Consumer | None = None
        self._role: roles.Role | None = None
        self._alone_since: float | None = None
        self._mutex = threading.Lock()
        self._count = 0
        self._waiting: set[int] = set()
        self.unanswered = 0

    def submit(self, text: str) -> int:
        """Commit one message and ring for it; returns the turn's id. May be called from another thread."""
        with self._mutex:
            self._count += 1
            message = local.message(self._user, self._token, self._count, text)
            accepted = intake.accept(self._gear.db, self._gear.audit, message)
            self._waiting.add(accepted.turn_id)
        self._bells.accepted(local.CHANNEL, accepted)
        self._listener.ring_self()
        return accepted.turn_id

    def ensure_consumer(self, patience: float = 0.0) -> bool:
        """Start a consumer in this process where none has lived for `patience` seconds; whether it just did."""
        if self.somebody_answers:
            self._alone_since = None
            return False
        now = clock.monotonic()
        self._alone_since = self._alone_since or now
        if now - self._alone_since < patience:
            return False
        self._role = roles.take_consumer(self._gear.settings.home.run, "push chat")
        self._consumer = Consumer(self._gear, self._role)
        self._consumer.start()
        return True

    @property
    def paused_conversation(self) -> str | None:
        """The name of this terminal's conversation while it is paused: nothing is answered in it."""
        mine = local.conversation(self._user)
        return next((row.conversation for row in conversations.paused(self._gear.db) if row.conversation == mine), None)

    @property
    def somebody_answers(self) -> bool:
        """Whether a consumer of this home lives, in this process or another."""
        return self._consumer is not None or roles.consumer_lives(self._gear.settings.home.run)

    def look(self) -> None:
        """Print what is ready, and learn which messages ended without an answer."""
        self.deliver()
        with self._mutex:
            waiting = sorted(self._waiting)
        for turn_id in waiting:
            turn = turns.get(self._gear.db, turn_id)
            if turn is None or turn.state in TURN.open or outbox.is_open_for_turn(self._gear.db, turn_id):
                break  # a conversation is handled in order: the later ones are not ready either
            self.unanswered += turn.state != "answered"
            with self._mutex:
                self._waiting.discard(turn_id)

    @property
    def has_news(self) -> bool:
        """Whether there is an answer for this terminal to print."""
        rows = outbox.open_for(self._gear.db, local.CHANNEL, self._user)
        return any(self._is_mine(event) for _, event in rows)

    @property
    def is_waiting(self) -> bool:
        """Whether a message of this terminal has no answer yet."""
        with self._mutex:
            return bool(self._waiting)

    def oldest_waiting(self) -> Turn | None:
        """The oldest message of this terminal that has no answer yet."""
        with self._mutex:
            oldest = min(self._waiting, default=None)
        return None if oldest is None else turns.get(self._gear.db, oldest)

    def pause(self) -> None:
        """Wait for news, at most a second; then look after a consumer that went away."""
        self._listener.wait_for(_LOOK_SECONDS)
        self.ensure_consumer(_TAKE_OVER_SECONDS)

    def rest(self, descriptor: int) -> bool:
        """Wait until `descriptor` is readable (True), or there is an answer to print (False)."""
        readable = select.poll()
        readable.register(descriptor, select.POLLIN)
        while not readable.poll(0):
            if self.has_news and (lock := self._right_to_print(wait_seconds=0)):
                lock.close()
                return False
            self._listener.wait_for(_REST_SECONDS, descriptor)
        return True

    def wake(self) -> None:
        """End a `pause` from another thread."""
        self._listener.ring_self()

    def deliver(self) -> None:
        """Print this terminal's answers, and those whose terminal is gone, in commit order.

        Raises the OSError of `show`; what was not printed waits for the next terminal.
        """
        if not self.has_news:
            return
        lock = self._right_to_print(wait_seconds=1)
        if lock is None:
            return  # another terminal of this user prints
        with lock:
            for row, event in outbox.open_for(self._gear.db, local.CHANNEL, self._user):
                if self._is_mine(event):
                    self._print(row, event, lock)

    def _right_to_print(self, wait_seconds: float) -> FileLock | None:
        path = deliver.target_lock(self._gear.settings.home.run, local.CHANNEL, self._user)
        return FileLock.take(path, wait_seconds=wait_seconds)

    def _print(self, row: Outbound, event: str | None, lock: FileLock) -> None:
        own = event is not None and local.asked_at(event) == self._token
        refusals: list[OSError] = []

        def write(text: str, note: str) -> None:
            try:
                self._show(Printed(text, own, row.created_at, note))
            except OSError as exc:
                refusals.append(exc)
                raise

        screen = local.Screen(self._token, write)
        sender = Sender(self._gear.db, _POLICY, partial(screen.send, row.id), lock=lock)
        with suppress(StaleRow):  # a person dropped it in between
            while isinstance(outcome := sender.send(row), Waits) and not refusals and is_due(outcome.until):
                row = outbox.get(self._gear.db, row.id)
        if refusals:
            raise refusals[0]

    def _is_mine(self, event: str | None) -> bool:
        token = local.asked_at(event) if event else ""
        name = f"{local.desk(self._user)}.{token}"
        return token == self._token or not wake.is_alive(self._gear.settings.home.run, name)

    def cancel_oldest(self) -> bool:
        """Stop what this terminal waits for: the running agent, or a message that still waits."""
        turn = self.oldest_waiting()
        if turn is None or not cancelling.cancel(self._gear.db, self._gear.settings.home.spool, turn.id):
            return False
        self._bells.lanes["turns"].ring(turn.conversation_id)  # for what waits behind one that had not begun
        return True

    def close(self) -> None:
        """End; a running agent is left to its runner, its answer waits for the next terminal."""
        if self._consumer is not None:
            self._consumer.stop()
        if self._role is not None:
            leave(self._role, self._gear.settings.home.run)
        self._bells.close()
        self._listener.close()
