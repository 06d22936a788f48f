"""Turns: what is stored, which one may be worked on, and what is committed together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from freezegun import freeze_time

from push import seams
from push.ledger import arrivals, outbox, turns
from push.ledger.database import Database
from push.model.values import Duplicate, Plan, Usage
from tests.ledger import lives

LATER = Plan("codex", None, is_new=True, epoch=2, work_dir="/assistant", instructions_sha256="ab", rehydrated=3)


def heads(db: Database) -> list[int | None]:
    """The head of each conversation that has one."""
    found = [turns.head(db, conversation) for conversation, _ in turns.open_conversations(db)]
    return [turn.id if turn else None for turn in found]


def test_a_message_is_kept_as_it_came(db: Database) -> None:
    text = "a\0b\x1b[31m é \U0001f600\n" + "x" * 1_000_000
    turn = lives.accept(db, lives.message("ann", text))
    assert (turn.text, turn.state, turn.conversation, turn.target, turn.attempt) == (
        text,
        "queued",
        "local:ann",
        "ann",
        0,
    )
    assert turn.received_at == 1_000
    assert turn.plan is None


def test_an_event_is_accepted_once(db: Database) -> None:
    inbound = lives.message()
    turn = lives.accept(db, inbound)
    again = arrivals.accept(db, replace(inbound, text="another text", conversation="local:bob"))
    assert again == Duplicate(turn.id, turn.conversation_id)
    assert db.rows("SELECT count(*) FROM turn") == [(1,)]
    assert lives.accept(db, replace(inbound, channel="telegram")).id == 2  # an event's name is its channel's own


def test_the_oldest_open_turn_is_the_head(db: Database) -> None:
    first, second, other = (lives.accept(db, lives.message(user)) for user in ("ann", "ann", "bob"))
    assert heads(db) == [first.id, other.id]
    lives.fail(db, first)
    assert heads(db) == [second.id, other.id]
    turns.cancel(db, second, "operator")
    assert heads(db) == [other.id]


@pytest.mark.parametrize("state", ["running", "waiting", "interrupted"])
def test_a_turn_stays_the_head_until_it_ends(db: Database, state: str) -> None:
    first = lives.accept(db)
    lives.accept(db)
    running = lives.start(db, first)
    if state == "waiting":
        turns.delay(db, running, "in_use", 60)
    elif state == "interrupted":
        turns.interrupt(db, running, "recovery")  # and at once queued again, in the same transaction
    assert heads(db) == [first.id]


def test_when_a_conversation_is_due(db: Database) -> None:
    with freeze_time("2026-03-01T12:00:00Z"):
        turn = lives.accept(db)
        assert turns.open_conversations(db) == [(turn.conversation_id, None)]
        turns.postpone(db, turn, "disk_full", 30)
        lives.accept(db)
        assert turns.open_conversations(db) == [(turn.conversation_id, 1_772_366_430_000)]
    assert turns.now_due(db, turn.id)
    assert turns.open_conversations(db) == [(turn.conversation_id, None)]


def test_a_start_stores_how_it_is_run(db: Database) -> None:
    turn = lives.accept(db)
    turns.postpone(db, turn, "disk_full", 30)
    started = lives.start(db, turn, LATER)
    assert (started.state, started.attempt, started.plan) == ("running", 1, LATER)
    assert started.not_before is None
    again = replace(LATER, session_id="s2", is_new=False)
    turns.start_again(db, started, again)
    assert (lives.now(db, turn.id).attempt, lives.now(db, turn.id).plan) == (2, again)


def test_an_answer_and_its_reply_are_one_commit(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = lives.start(db, lives.accept(db))

    def fail(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(outbox, "enqueue", fail)
        with pytest.raises(OSError):
            lives.answer(db, turn, "hi")
    assert lives.now(db, turn.id).state == "running"
    reply = lives.answer(db, turn, "one", "two", session_id="told by the CLI")
    assert [(part.seq, part.part.text, part.delivered) for part in reply.parts] == [
        (0, "one", False),
        (1, "two", False),
    ]
    assert (reply.turn_id, reply.target, reply.state) == (turn.id, "ann", "pending")
    plan = lives.now(db, turn.id).plan
    assert plan is not None
    assert plan.session_id == "told by the CLI"


def test_a_failure_keeps_its_reason_and_the_beginning_of_its_detail(db: Database) -> None:
    turn = lives.start(db, lives.accept(db))
    turns.fail(db, turn, turns.Reply(lives.rendered("sorry")), "recovery", turns.Failure("agent_error", "x" * 5000))
    assert db.rows("SELECT state, reason, length(detail) FROM turn") == [("failed", "agent_error", 4096)]
    assert [part.part.text for part in lives.reply_to(db, turn.id).parts] == ["sorry"]


def test_a_cancelled_turn_has_no_reply(db: Database) -> None:
    turns.cancel(db, lives.start(db, lives.accept(db)), "worker")
    assert db.rows("SELECT * FROM outbound") == []


def test_an_interruption_is_counted_and_leads_back(db: Database) -> None:
    turn = lives.start(db, lives.accept(db))
    turns.interrupt(db, turn, "recovery", "s9")
    after = lives.now(db, turn.id)
    assert (after.state, after.interruptions, after.attempt) == ("queued", 1, 1)
    assert after.plan is not None
    assert after.plan.session_id == "s9"


def test_a_delay_is_counted_and_over_when_resumed(db: Database) -> None:
    turn = lives.start(db, lives.accept(db))
    with freeze_time("2026-03-01T12:00:00Z"):
        turns.delay(db, turn, "in_use", 1.5)
    after = lives.now(db, turn.id)
    assert (after.state, after.delays, after.not_before) == ("waiting", 1, 1_772_366_401_500)
    turns.resume_waiting(db, after, "worker")
    assert (lives.now(db, turn.id).state, lives.now(db, turn.id).not_before) == ("queued", None)


def test_what_has_ended_is_neither_postponed_nor_made_due(db: Database) -> None:
    turn = lives.accept(db)
    lives.fail(db, turn)
    turns.postpone(db, turn, "disk_full", 30)
    assert lives.now(db, turn.id).not_before is None
    assert not turns.now_due(db, turn.id)
    assert not turns.now_due(db, 99)


def test_history_is_what_was_asked_and_what_was_delivered(db: Database) -> None:
    lives.deliver(db, lives.answered(db, "ann", "one ", "two"))
    lives.answered(db, "ann", "never delivered")
    command = lives.accept(db, lives.message("ann", "/help", "command"))
    turns.answer_command(db, command, lives.rendered("help"))
    lives.deliver(db, lives.answered(db, "bob", "somebody else's"))
    turn = lives.accept(db, lives.message("ann", "now"))
    whole = [("user", "hello"), ("assistant", "one two"), ("user", "hello")]
    assert turns.recent_messages(db, turn, 20) == whole
    assert turns.recent_messages(db, turn, 2) == whole[1:]


@pytest.mark.parametrize(
    ("totals", "expected"),
    [((100, 250, 240), [100, 150, 0]), ((None, 250, 300), [None, 250, 50])],
)
def test_what_a_run_cost_is_the_difference_of_its_sessions_totals(
    db: Database, totals: tuple[int | None, ...], expected: list[int | None]
) -> None:
    """Codex tells a session's sum; a sum that shrank (it was compacted) costs nothing rather than less than nothing."""
    for number, total in enumerate(totals):
        plan = replace(LATER, session_id="s1" if number else None, is_new=not number)
        turn = lives.start(db, lives.accept(db), plan)
        usage = Usage(input_tokens=total, cumulative=frozenset({"input_tokens"}))
        turns.answer(db, turn, turns.Reply(lives.rendered("hi"), usage, "s1"), "worker")
    assert [tokens for (tokens,) in db.rows("SELECT input_tokens FROM turn ORDER BY id")] == expected


def test_what_a_run_cost_is_what_the_cli_says_of_the_run(db: Database) -> None:
    for _ in range(2):
        lives.answered(db)
    assert db.rows("SELECT input_tokens, output_tokens, cost_usd FROM turn") == [(10, 20, 0.01)] * 2


def test_every_commit_of_a_turn_has_a_seam(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a crash test can kill at: each is passed after the commit, and `before_` ones before."""
    passed: list[tuple[str, str]] = []

    def note(name: str) -> None:
        row = db.one("SELECT state FROM turn ORDER BY id DESC LIMIT 1")
        passed.append((name, row[0] if row else ""))

    monkeypatch.setattr(turns, "seam", note)
    monkeypatch.setattr(arrivals, "seam", note)
    turn = lives.accept(db)
    lives.answer(db, lives.start(db, turn))
    assert passed == [
        ("intake.before_commit", ""),
        ("intake.committed", "queued"),
        ("turn.running_committed", "running"),
        ("turn.before_answer_commit", "running"),
        ("turn.answer_committed", "answered"),
    ]
    assert {name for name, _ in passed} <= seams.SEAMS
