"""Whatever the order of turns, /new, days that pass and drops: an ended session never comes back."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from push import clock
from push.model.values import Session
from push.state import IDLE_DAYS, StateFile

CONVERSATIONS = st.sampled_from(["local:ann", "local:bob", "telegram:7"])


class Epochs(RuleBasedStateMachine):
    """Turns begin and end in any order; `ended` holds the sessions that a /new took away."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.file = StateFile(Path(self._folder.name) / "state.json")
        self.instant = datetime(2026, 1, 1, tzinfo=UTC)
        self.turns: list[tuple[str, int, str, int]] = []  # conversation, epoch, its session, /new seen before
        self.said_new: dict[str, int] = {}
        self.ended: set[tuple[str, str]] = set()
        self.dropped = False
        self._patch = pytest.MonkeyPatch()

    @initialize()
    def set_clock(self) -> None:
        self._patch.setattr(clock, "now", lambda: self.instant)

    def teardown(self) -> None:
        self._patch.undo()
        self._folder.cleanup()

    @rule(conversation=CONVERSATIONS)
    def turn_begins(self, conversation: str) -> None:
        epoch, session = self.file.begin(conversation)
        uuid = f"session {len(self.turns)}" if session is None else str(session.uuid)
        self.turns.append((conversation, epoch, uuid, self.said_new.get(conversation, 0)))

    @rule(data=st.data())
    def turn_ends(self, data: st.DataObject) -> None:
        if not self.turns:
            return
        conversation, epoch, uuid, news = data.draw(st.sampled_from(self.turns))
        session = Session(uuid, True, "claude", epoch, "/w", "s", "")
        saved = self.file.save_session(conversation, session, expected_epoch=epoch)
        if news != self.said_new.get(conversation, 0):
            assert not saved
        elif not self.dropped:
            assert saved

    @rule(conversation=CONVERSATIONS)
    def new(self, conversation: str) -> None:
        self.ended |= {(c, uuid) for c, _, uuid, _ in self.turns if c == conversation}
        before = self.file.epoch(conversation)
        assert self.file.reset_session(conversation) == self.file.epoch(conversation) == before + 1
        self.said_new[conversation] = self.said_new.get(conversation, 0) + 1

    @rule(days=st.integers(-2, IDLE_DAYS + 2), cursor=st.integers(0, 9))
    def days_pass(self, days: int, cursor: int) -> None:
        self.instant += timedelta(days=days)
        self.dropped = self.dropped or days >= 1
        self.file.set_cursor("telegram", cursor, owner="b")

    @invariant()
    def no_ended_session_is_back(self) -> None:
        current = {(c, str(session.uuid)) for c, session in self.file.read().sessions.items()}
        assert not current & self.ended


TestEpochs = Epochs.TestCase
