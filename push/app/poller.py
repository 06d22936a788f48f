"""The loop that reads one channel: poll, store, ring, and only then let the cursor pass.

Owns when to ask again and what is said about a channel that does not answer; does not own what an update means
(`push.providers`) nor storing it (`push.gateway`, `push.ledger`).
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from push import clock
from push.app.alarm import Deafness
from push.app.refusals import Refusals
from push.errors import ConfigError, PushError, TemporaryError
from push.gateway import commands, intake, presses
from push.ledger import allowlist, arrivals, pace
from push.ledger.arrivals import Reading
from push.model.values import Accepted, Duplicate, Inbound, Merged, NotSent, Pace, SendOutcome
from push.providers.base import (
    Allowlist,
    Closed,
    Edited,
    Identity,
    Ignored,
    Later,
    Pressed,
    Read,
    Reader,
    Update,
)
from push.state import StateCorrupt
from push.tasks.bells import Bells
from push.tasks.courtesy import Courtesy
from push.tasks.roles import Role
from push.tasks.turns import Gear

POLL_SECONDS = 25
_SHORTEST_SECONDS, _LONGEST_SECONDS = 1.0, 30.0
_CLOSED_SECONDS = 300.0
_STOP_SECONDS = 5.0
_LOG_EVERY = 20  # failures in a row: some ten minutes
_ANOTHER_POLLER = "another_poller"
_RATE_LIMITED = "rate_limited"  # the service's wish, which a restart does not undo

#: What a person reads beside a code that does not explain itself.
_IN_WORDS = {
    _ANOTHER_POLLER: "another program reads the same messages",
    _RATE_LIMITED: "the service wants a pause",
    "webhook_active": "a webhook takes the messages",
    "broken_answer": "the connection broke",
    "malformed_answer": "the answer is not understood",
}

log = logging.getLogger(__name__)


class Poller:
    """Reads one channel on a thread of its own, until the stop flag."""

    def __init__(self, gear: Gear, reader: Reader, bells: Bells, role: Role) -> None:
        self._gear = gear
        self._reader = reader
        self._bells = bells
        self._role = role
        self._name = reader.name
        self._refusals = Refusals(gear.db, gear.audit, self._name)
        self._deafness = Deafness(gear, bells, self._name)
        self._courtesy = Courtesy(f"courtesy-{self._name}", gear.db.close_thread)
        self._introduced: Identity | None = None
        self._identity: Identity | None = None
        self._cursor: int | None = None
        self._unrung: list[Accepted | Duplicate | Merged] = []
        self._failures = 0
        self._wait_seconds = 0  # the first question, so that it is soon known whether the service answers
        self._thread = threading.Thread(target=self._loop, name=f"poll-{self._name}", daemon=True)

    def introduce(self) -> None:
        """Ask the service who we are. Raises ConfigError where it does not want us; no answer is no reason to end.

        Reading begins nowhere yet: another one may still be at it.
        """
        found = self._identify()
        if isinstance(found, Closed):
            raise self._closed(found)
        self._introduced = found if isinstance(found, Identity) else None

    def start(self) -> None:
        """Begin; ends with the stop flag."""
        self._courtesy.start()
        self._thread.start()

    def join(self) -> bool:
        """After the stop flag: end the question that is under way, and wait for what is being stored."""
        self._courtesy.close()
        self._reader.close()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
        return not self._thread.is_alive()

    def outlast(self) -> None:
        """Wait for its end, however long it takes."""
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        pause = 0.0
        try:
            while not self._gear.stop.wait(pause):
                pause = self._round()
        finally:
            self._refusals.close()
            self._gear.db.close_thread()

    def _round(self) -> float:
        """One question to the service, whatever goes wrong; returns how long to wait before the next."""
        try:
            return self._once()
        except (PushError, OSError) as exc:
            reason = exc.message if isinstance(exc, PushError) else exc.strerror or type(exc).__name__
            log.error("%s: what was read cannot be stored: %s", self._name, reason)  # noqa: TRY400  no surprise
            return self._trouble(f"cannot store what it reads: {reason}", None)
        except Exception:
            log.exception("%s: unexpected", self._name)
            return self._trouble("a defect of Push; see the log", None)

    def read_once(self) -> None:
        """Store all that the service holds now. Raises TemporaryError, or ConfigError where a person must act."""
        while True:
            before = self._cursor
            polled = self._read(wait_seconds=0)
            if isinstance(polled, Closed):
                raise self._closed(polled)
            if isinstance(polled, Later):
                why = f"the service: {polled.reason}"
                raise TemporaryError(f"{self._name} cannot be read now", why=why, hint="push status", code="not_read")
            if not polled.updates or self._cursor == before:
                return

    def _closed(self, found: Closed) -> ConfigError:
        why = f"the service says: {str(found).replace('_', ' ', 1)}"
        return ConfigError(f"{self._name} cannot be read", why=why, hint=found.hint, code="channel_closed")

    def _once(self) -> float:
        asked_at, before = clock.monotonic(), self._cursor
        wait_seconds = self._wait_seconds
        polled = self._read(wait_seconds)
        if not isinstance(polled, Read):
            return self._not_read(polled)
        if self._failures:
            log.warning("%s: is read again", self._name)
        self._failures, self._wait_seconds = 0, POLL_SECONDS
        self._deafness.heard()
        assert self._identity is not None
        self._role.beat(self._name, f"reading as {self._identity.label}", f"{self._name}.good")
        if self._cursor != before or not wait_seconds:
            return 0.0
        # A service that does not wait, or says the same again and again, is no hot loop.
        return max(asked_at + _SHORTEST_SECONDS - clock.monotonic(), 0.0)

    def _read(self, wait_seconds: int = POLL_SECONDS) -> Read | Later | Closed:
        """Ask once, and store what comes."""
        if self._identity is None:
            found = self._introduced or self._identify()
            self._introduced = None
            if not isinstance(found, Identity):
                return found
            self._begin(found)
        polled = self._reader.poll(self._cursor, self._allowed, wait_seconds)
        if not isinstance(polled, Read):
            self._heed(polled)
        elif not self._gear.stop.is_set:  # else it is read again at the next start
            self._store(polled)
        return polled

    def _identify(self) -> Identity | Later | Closed:
        """Ask the service who we are, unless an earlier question, or process, was asked to wait."""
        if (left := self._asked_to_wait(pace.READING)) > 0:
            return Later(_RATE_LIMITED, left)
        found = self._reader.identify()
        if not isinstance(found, Identity):
            self._heed(found)
        return found

    def _asked_to_wait(self, key: str) -> float:
        """The seconds of a pause that are not over."""
        until = pace.free_at(self._gear.db, self._name, (Pace(key, ()),))
        return (until - clock.now_ms()) / 1000

    def _heed(self, found: Later | Closed) -> None:
        """What the service asks for outlives this process."""
        if isinstance(found, Later) and found.reason == _RATE_LIMITED and found.seconds:
            pace.pause(self._gear.db, self._name, pace.READING, found.seconds, found.reason)

    def _begin(self, identity: Identity) -> None:
        """Go on where this very owner was read last; a cursor of another bot, or of nobody known, is not ours."""
        self._cursor = arrivals.position(self._gear.db, self._name, identity.owner)
        if self._cursor is None:
            state = self._gear.state.read()
            if state.cursor_owner.get(self._name) == identity.owner:
                self._cursor = state.cursors.get(self._name)
        self._identity = identity
        log.debug("%s: reading as %s", self._name, identity.label)  # at each start: status says it, no log grows
        channel = self._gear.channels.get(self._name)
        if channel is not None:
            self._soon(pace.MENU, lambda: channel.announce_commands(commands.menu()))

    def _soon(self, key: str, call: Callable[[], SendOutcome]) -> None:
        """Make a call that nobody waits for, unless the service wants a pause of its kind."""

        def heeding() -> None:
            if self._asked_to_wait(key) > 0:
                return
            outcome = call()
            if isinstance(outcome, NotSent) and outcome.retry_after:
                pace.pause(self._gear.db, self._name, key, outcome.retry_after, outcome.reason)

        self._courtesy.do(heeding)

    def _allowed(self) -> Allowlist:
        telegram = self._gear.settings.telegram
        users, chats = set(telegram.allow_user_ids), set(telegram.allow_chat_ids)
        for entry in allowlist.entries(self._gear.db, self._name):
            (users if entry.kind == "user" else chats).add(int(entry.id))
        return Allowlist(frozenset(users), frozenset(chats))

    # -- what was read -------------------------------------------------------------------------------------------

    def _store(self, polled: Read) -> None:
        assert self._identity is not None
        stored = None
        try:
            for update in polled.updates:
                reading = Reading(self._name, self._identity.owner, update.position)
                if self._take(update, reading):
                    stored = update.position
                self._cursor = update.position
        finally:
            self._ring_for_messages()
        self._refusals.flush()
        if polled.updates and self._cursor is not None:
            if stored != self._cursor:
                arrivals.passed(self._gear.db, Reading(self._name, self._identity.owner, self._cursor))
            self._save_cursor(self._cursor, self._identity.owner)

    def _save_cursor(self, cursor: int, owner: str) -> None:
        try:
            self._gear.state.set_cursor(self._name, cursor, owner=owner)
        except StateCorrupt as exc:  # the ledger has it, and commands are to be read while a person repairs the file
            log.warning("%s: its cursor stands in the ledger alone: %s", self._name, exc.message)

    def _take(self, update: Update, reading: Reading) -> bool:
        """Handle one update; whether its reading was committed with it. Raises where it is to be read again."""
        try:
            match update.seen:
                case Inbound() as message:
                    accepted = intake.accept(self._gear.db, self._gear.audit, message, reading)
                    if isinstance(accepted, Accepted) and accepted.lane == "control":
                        self._bells.accepted(self._name, accepted)
                    else:
                        self._unrung.append(accepted)
                    return True
                case Edited() as edited:
                    self._edit(edited, reading)
                    return True
                case Pressed() as pressed:
                    self._press(pressed)
                case Ignored() as ignored:
                    self._refusals.take(ignored)
        except (TemporaryError, OSError):
            raise
        except Exception as exc:  # it will not be different next time, and must not stop what comes after it
            code = exc.code if isinstance(exc, PushError) else type(exc).__name__
            log.exception("%s: an update cannot be stored", self._name)
            arrivals.reject(self._gear.db, reading, update.raw, code)
            self._gear.audit.record("update_rejected", channel=self._name, position=update.position, reason=code)
            return True
        return False

    def _ring_for_messages(self) -> None:
        """Not at once: after an outage a message comes together with its edits, and runs as it was meant in the end."""
        for accepted in self._unrung:
            self._bells.accepted(self._name, accepted)
        self._unrung.clear()

    def _edit(self, edited: Edited, reading: Reading) -> None:
        text = intake.encodable(edited.text)
        change = (edited.message_ref, edited.sender, text)
        turn_id = arrivals.edit(self._gear.db, self._name, change, reading)
        event = "message_edited" if turn_id is not None else "message_edit_ignored"
        self._gear.audit.record(event, turn=turn_id, channel=self._name, message=text)

    def _press(self, pressed: Pressed) -> None:
        answer = presses.press(self._gear.db, self._gear.settings.home.spool, pressed)
        self._gear.audit.record(
            "button_pressed", channel=self._name, thread=pressed.conversation, sender=pressed.sender
        )
        if answer.conversation_id is not None:
            self._bells.lanes["turns"].ring(answer.conversation_id)
            self._bells.lanes["signs"].ring(answer.conversation_id)
        channel = self._gear.channels.get(self._name)
        if channel is not None:
            self._soon(pace.PRESSES, lambda: channel.answer_press(pressed.press_id, answer.text))
            if answer.is_stale and pressed.receipt:
                receipt = pressed.receipt
                self._soon(channel.paces(pressed.target)[0].key, lambda: channel.remove(pressed.target, receipt))

    # -- what was not --------------------------------------------------------------------------------------------

    def _not_read(self, found: Later | Closed) -> float:
        if self._gear.stop.is_set:
            return 0.0
        if isinstance(found, Closed):
            log.error("%s cannot be read: %s. Next: %s", self._name, found, found.hint)
            self._identity = None
            self._note(f"closed: {found}. Next: {found.hint}")
            return _CLOSED_SECONDS
        return self._trouble(found.reason, found.seconds)

    def _trouble(self, reason: str, seconds: float | None) -> float:
        self._failures += 1
        # A short question soon tells that it is over; of two pollers it would only make the other one's end.
        self._wait_seconds = POLL_SECONDS if reason == _ANOTHER_POLLER else 0
        backoff = min(_SHORTEST_SECONDS * 2.0 ** min(self._failures - 1, 10), _LONGEST_SECONDS)
        pause = max(backoff * random.uniform(0.8, 1.2), seconds or 0.0)
        words = f"{_IN_WORDS[reason]} ({reason})" if reason in _IN_WORDS else reason.replace("_", " ")
        if self._failures % _LOG_EVERY == 1:
            log.warning("%s: %s; asking again in %.0f s. Next: push doctor", self._name, words, pause)
        self._note(f"{words}; asking again in {pause:.0f} s")
        return pause

    def _note(self, note: str) -> None:
        self._role.beat(self._name, note)
        self._deafness.check(note)
