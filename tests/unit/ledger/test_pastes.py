"""A text that the channel has split is one turn again; an edit of what still waits replaces it, the old one kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from freezegun import freeze_time

from push.ledger import arrivals, line, turns
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.ledger.verify import verify
from push.model.values import Accepted, Duplicate, Inbound, Merged
from tests.ledger import lives

#: Telegram cuts at 4,096 units; where it cuts at a space or a line's end, the piece is a little shorter.
FULL, SHORT = "x" * 4096, "y" * 4000
HOLD_MS = 1_500
LATER = 1_000 + 1_000  # the last moment at which the next piece may come


def piece(text: str, number: int = 1, **more: object) -> Inbound:
    known = Inbound("telegram", "telegram:1", "1", f"e{number}", "7", text, 1_000, message_ref=f"m{number}", joins=True)
    hold_ms = HOLD_MS if arrivals.units(text) >= arrivals.SPLIT_UNITS else 0
    return replace(known, **{"hold_ms": hold_ms} | more)  # type: ignore[arg-type]


def accept(db: Database, *pieces: Inbound) -> list[Accepted | Duplicate | Merged]:
    return [arrivals.accept(db, message) for message in pieces]


def damages(db: Database) -> tuple[object, ...]:
    return verify(db, {}, (), lambda what: None).damages


def test_two_pieces_are_one_turn(db: Database) -> None:
    first, second = accept(db, piece(FULL), piece("the rest", 2, received_ms=LATER))
    assert first == Accepted(1, 1)
    assert second == Merged(1, 1)
    assert turns.whole_text(db, lives.now(db, 1)) == f"{FULL}the rest"
    assert [turn.id for turn in line.of(db, 1)] == [1]
    assert lives.state_of(db, "turn", 2) == "merged"
    assert damages(db) == ()


def test_three_pieces_are_one_turn_and_a_shorter_one_ends_its_line(db: Database) -> None:
    outcomes = accept(db, piece(SHORT), piece(FULL, 2, received_ms=LATER), piece("z", 3, received_ms=LATER + 1_000))
    assert outcomes[1:] == [Merged(1, 1), Merged(1, 1)]
    assert turns.whole_text(db, lives.now(db, 1)) == f"{SHORT}\n{FULL}z"
    assert damages(db) == ()


def test_a_merged_piece_a_second_time_changes_nothing(db: Database) -> None:
    accept(db, piece(FULL), piece("the rest", 2))
    assert accept(db, piece("the rest", 2)) == [Duplicate(2, 1)]
    assert turns.whole_text(db, lives.now(db, 1)) == f"{FULL}the rest"


def test_the_hold_lasts_as_long_as_pieces_come(db: Database) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        began = 1_772_366_400_000
        accept(db, piece(FULL))
        assert lives.now(db, 1).not_before == began + HOLD_MS
        now.tick(1)
        accept(db, piece(FULL, 2, received_ms=LATER))
        assert lives.now(db, 1).not_before == began + 1_000 + HOLD_MS
        assert turns.open_conversations(db) == [(1, began + 1_000 + HOLD_MS)]
        accept(db, piece("the rest", 3, received_ms=LATER))
        assert lives.now(db, 1).not_before is None, "a short piece is the last"


@pytest.mark.parametrize(
    "second",
    [
        piece("the rest", 2, received_ms=LATER + 1),
        piece("the rest", 2, sender="8"),
        piece("the rest", 2, target="1/5"),
        piece("the rest", 2, conversation="telegram:2"),
        piece("/new", 2, kind="command", joins=False),
        piece("/new", 2, kind="command"),
        piece("the rest", 2, joins=False),
    ],
    ids=["later", "sender", "target", "conversation", "command", "command that would join", "does not join"],
)
def test_what_is_no_rest_is_a_turn_of_its_own(db: Database, second: Inbound) -> None:
    outcomes = accept(db, piece(FULL), second)
    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    assert turns.whole_text(db, lives.now(db, 1)) == FULL


@pytest.mark.parametrize(
    "first",
    [piece("x" * 3_999), piece("😀" * 1_999), piece("/model " + FULL, kind="command", joins=False)],
    ids=["short", "short in units", "command"],
)
def test_nothing_joins_what_was_not_cut(db: Database, first: Inbound) -> None:
    outcomes = accept(db, first, piece("the rest", 2))
    assert isinstance(outcomes[1], Accepted)


def test_units_and_not_characters_say_that_it_was_cut(db: Database) -> None:
    assert accept(db, piece("😀" * 2_000), piece("the rest", 2))[1] == Merged(1, 1)


def test_only_the_newest_message_is_joined(db: Database) -> None:
    accept(db, piece(FULL), piece("between", 2, sender="8"))
    assert isinstance(accept(db, piece("the rest", 3))[0], Accepted)


def test_a_control_command_in_between_does_not_part_a_text(db: Database) -> None:
    accept(db, piece(FULL), piece("/status", 2, kind="command", lane="control", joins=False))
    assert accept(db, piece("the rest", 3))[0] == Merged(1, 1)


@pytest.mark.parametrize("state", ["running", "queued again", "cancelled"])
def test_what_has_begun_or_ended_is_not_joined(db: Database, state: str) -> None:
    accept(db, piece(FULL))
    if state == "cancelled":
        turns.cancel(db, lives.now(db, 1), "operator")
    else:
        lives.start(db, lives.now(db, 1))
    if state == "queued again":
        turns.interrupt(db, lives.now(db, 1), "recovery")
    assert isinstance(accept(db, piece("the rest", 2))[0], Accepted)


# -- edits -----------------------------------------------------------------------------------------------------------

BOT = Reading("telegram", "4711", 100)


def test_an_edit_replaces_what_waits_and_keeps_the_old_text(db: Database) -> None:
    accept(db, piece("one"))
    with freeze_time("2026-03-01T12:00:00Z") as now:
        assert arrivals.edit(db, "telegram", ("m1", "7", "two"), BOT) == 1
        now.tick(1)
        assert arrivals.edit(db, "telegram", ("m1", "7", "three")) == 1
    assert lives.now(db, 1).text == "three"
    assert arrivals.revisions(db, 1) == [(1_772_366_400_000, "one"), (1_772_366_401_000, "two")]
    assert arrivals.position(db, "telegram", "4711") == 100
    assert damages(db) == ()


def test_an_edit_of_a_merged_piece_changes_its_place_in_the_whole(db: Database) -> None:
    accept(db, piece(FULL), piece("the rest", 2), piece("more", 3, sender="8"))
    assert arrivals.edit(db, "telegram", ("m2", "7", "another rest")) == 2
    assert turns.whole_text(db, lives.now(db, 1)) == f"{FULL}another rest"
    assert arrivals.revisions(db, 2) == [(arrivals.revisions(db, 2)[0][0], "the rest")]


@pytest.mark.parametrize("number", [1, 2])
def test_an_edit_after_the_start_changes_nothing(db: Database, number: int) -> None:
    accept(db, piece(FULL), piece("the rest", 2))
    lives.start(db, lives.now(db, 1))
    assert arrivals.edit(db, "telegram", (f"m{number}", "7", "too late"), BOT) is None
    turns.interrupt(db, lives.now(db, 1), "recovery")  # queued, but its agent has seen the text
    assert arrivals.edit(db, "telegram", (f"m{number}", "7", "too late"), BOT) is None
    assert turns.whole_text(db, lives.now(db, 1)) == f"{FULL}the rest"
    assert db.rows("SELECT * FROM revision") == []
    assert arrivals.position(db, "telegram", "4711") == 100, "it is passed all the same"


@pytest.mark.parametrize(
    ("channel", "change"),
    [
        ("telegram", ("m9", "7", "two")),
        ("telegram", ("m1", "8", "two")),
        ("imessage", ("m1", "7", "two")),
        ("telegram", ("m1", "7", "one")),
        ("telegram", ("m2", "7", "/new and more")),
    ],
    ids=["unknown", "of another person", "of another channel", "no change", "a command"],
)
def test_what_is_no_edit_of_a_message_that_waits(db: Database, channel: str, change: tuple[str, str, str]) -> None:
    accept(db, piece("one"), piece("/new", 2, kind="command", joins=False))
    assert arrivals.edit(db, channel, change) is None
    assert db.rows("SELECT text FROM turn ORDER BY id") == [("one",), ("/new",)]
    assert db.rows("SELECT * FROM revision") == []


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["a"], "a"),
        ([FULL, "b"], f"{FULL}b"),
        ([SHORT, "b"], f"{SHORT}\nb"),
        (["😀" * 2_048, "b"], "😀" * 2_048 + "b"),
        ([FULL, SHORT, "c"], f"{FULL}{SHORT}\nc"),
    ],
    ids=["one", "full", "cut at a line's end", "full in units", "three"],
)
def test_how_pieces_are_put_together(pieces: list[str], whole: str) -> None:
    assert arrivals.joined(pieces) == whole
