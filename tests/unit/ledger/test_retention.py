"""Texts that were kept long enough are gone, from the files too; everything else of a row stays."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push import clock
from push.gateway.ordered import TEXT_ERASED, Ordered
from push.ledger import arrivals, listing, outbox, retention, retries, turns
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.ledger.verify import verify
from push.model.values import Duplicate, Inbound, Part, Rendered, Turn
from tests.ledger import lives

OLD, NOW = "2026-01-01T12:00:00Z", "2026-03-01T12:00:00Z"
SECRET = "SECRETMARK"


@pytest.fixture
def db(tmp_path: Path, library: str) -> Iterator[Database]:
    with closing(Database.open(tmp_path / "push.db")) as database:
        yield database


def erase(db: Database, before: int | None = None) -> Counter[str]:
    """Everything that is old enough at an instant (default: now)."""
    counts = Counter[str]()
    for name, count in retention.erase(db, clock.now_ms() if before is None else before):
        counts[name] += count
    return counts


def damages(db: Database) -> list[tuple[str, str]]:
    return [(found.code, found.row) for found in verify(db, {}, (), lambda _: None).damages]


def told(db: Database, number: int = 0, text: str = SECRET) -> Turn:
    """A message with a context that was edited, and whose answer was delivered in two parts."""
    message = Inbound(
        "telegram", "telegram:dm:5", "5", f"e{number}", "5", text, 0, message_ref=str(number), context=text
    )
    accepted = arrivals.accept(db, message)
    arrivals.edit(db, "telegram", (str(number), "5", f"{text} edited"))
    turn = lives.start(db, lives.now(db, accepted.turn_id))
    parts = tuple(Part(f"{text} {half}", f'[{{"type": "{text}"}}]') for half in ("one", "two"))
    turns.answer(db, turn, turns.Reply(Rendered(parts, source=text), None), "worker")
    lives.deliver(db, lives.reply_to(db, turn.id))
    return lives.now(db, turn.id)


def files(db: Database) -> bytes:
    return b"".join(path.read_bytes() for path in db.path.parent.glob("push.db*"))


def test_the_texts_are_gone_from_the_files_and_the_rest_stays(db: Database) -> None:
    with freeze_time(OLD):
        told(db)
    assert SECRET.encode() in files(db)
    assert erase(db) == {"messages": 1, "answers": 1}
    assert db.empty_wal()
    assert SECRET.encode() not in files(db)  # nor is a copy that an earlier state of a row has left
    record = listing.turn_record(db, 1)
    assert record is not None
    assert record.reply is not None
    assert (record.text, record.context, record.earlier[0][1]) == (None, None, None)
    assert record.erased_at is not None
    assert [change.target for change in record.history] == ["queued", "running", "answered"]
    assert [(part.text, part.receipt) for part in record.reply.parts] == [(None, "r1.0"), (None, "r1.1")]
    assert [message.text for message in listing.messages(db, "telegram:dm:5", 9)] == [None, None]
    assert damages(db) == []
    assert erase(db) == {}


def test_an_event_id_outlives_its_text(db: Database) -> None:
    with freeze_time(OLD):
        turn = told(db)
    erase(db)
    again = Inbound("telegram", "telegram:dm:5", "5", "e0", "5", SECRET, 0)
    assert arrivals.accept(db, again) == Duplicate(turn.id, turn.conversation_id)
    assert lives.now(db, turn.id).text == ""


def test_only_what_ended_before_is_erased(db: Database) -> None:
    with freeze_time(OLD):
        told(db, 1)
    with freeze_time(NOW):
        told(db, 2)
        assert erase(db, clock.now_ms() - 1000) == {"messages": 1, "answers": 1}
    kept = retention.kept(db)
    assert (kept.messages, kept.erased) == (1, 1)
    assert lives.now(db, 2).text == f"{SECRET} edited"


def _open(db: Database) -> None:
    lives.accept(db)


def _failed(db: Database) -> None:
    lives.deliver(db, lives.fail(db, lives.start(db, lives.accept(db))))


def _undelivered(db: Database) -> None:
    lives.answered(db)


def _refused(db: Database) -> None:
    outbox.end(db, lives.sending(db, lives.answered(db)), "failed", "bot_blocked")


def _unknown(db: Database) -> None:
    outbox.hold(db, lives.sending(db, lives.answered(db)), "timeout", "sender")


def _held(db: Database) -> None:
    lives.deliver(db, lives.answered(db))
    with db.write():
        db.execute("UPDATE turn SET held_at = 1")
        db.execute("UPDATE outbound SET held_at = 1")


def _rejected(db: Database) -> None:
    arrivals.reject(db, Reading("telegram", "1", 1), SECRET, "strange")


@pytest.mark.parametrize("make", [_open, _undelivered, _refused, _unknown, _held, _rejected])
def test_what_is_listed_or_open_is_kept_whole(db: Database, make: Callable[[Database], None]) -> None:
    with freeze_time(OLD):
        make(db)
    assert erase(db) == {}


def test_what_failed_is_kept_until_it_leaves_the_list(db: Database) -> None:
    with freeze_time(OLD):
        _failed(db)
    assert erase(db) == {"answers": 1}
    retries.dismiss_turn(db, 1)
    assert erase(db) == {"messages": 1}
    row = db.one("SELECT detail, reason FROM turn")
    assert row == (None, "agent_error")


def test_what_possibly_arrived_twice_is_kept_until_it_leaves_the_list(db: Database) -> None:
    with freeze_time(OLD):
        row = lives.sending(db, lives.answered(db))
        outbox.unknown(db, row, 0, "timeout", "sender")
        lives.deliver(db, outbox.get(db, row.id))
    assert erase(db) == {"messages": 1}
    assert retries.drop_delivery(db, 1) is retries.Done.DONE
    assert erase(db) == {"answers": 1}


def test_what_was_rejected_is_kept_until_it_leaves_the_list(db: Database) -> None:
    with freeze_time(OLD):
        _rejected(db)
        retries.dismiss_rejected(db, 1)
    assert erase(db) == {"rejected": 1}
    assert erase(db) == {}
    found = retries.rejected(db, 1)
    assert found is not None
    assert (found.raw, found.reason) == ("", "strange")


def test_a_piece_of_a_pasted_text_is_kept_as_long_as_its_message(db: Database) -> None:
    long = "x" * 4096
    with freeze_time(OLD):
        for number, text in enumerate((long, SECRET)):
            arrivals.accept(db, Inbound("telegram", "t", "5", f"e{number}", "5", text, 0, joins=number > 0))
    assert lives.state_of(db, "turn", 2) == "merged"
    assert erase(db) == {}
    with freeze_time(NOW):
        lives.deliver(db, lives.answer(db, lives.start(db, lives.now(db, 1))))
    assert erase(db) == {"messages": 2, "answers": 1}
    assert turns.whole_text(db, lives.now(db, 1)) == "\n"
    assert damages(db) == []


def test_history_and_retry_cope_with_what_is_gone(db: Database, tmp_path: Path) -> None:
    with freeze_time(OLD):
        told(db)
    erase(db)
    later = arrivals.accept(db, Inbound("telegram", "telegram:dm:5", "5", "r", "5", "/retry", 0, "command"))
    turn = lives.now(db, later.turn_id)
    assert turns.recent_messages(db, turn, 20) == []
    ordered: Any = Ordered.__new__(Ordered)
    ordered._db = db
    assert ordered.run(turn) == TEXT_ERASED


def test_a_damage_of_erasing_is_found(db: Database) -> None:
    with freeze_time(OLD):
        told(db)
    lives.accept(db)
    with db.write():
        db.execute("UPDATE turn SET erased_at = 1")
        db.execute("UPDATE outbound SET erased_at = 1")
    assert damages(db) == [
        ("erased_early", "turn 2"),
        *(("erased_text", row) for row in ("turn 1", "turn 2", "delivery 1")),
    ]


def test_a_transaction_is_bounded_and_asking_no_more_stops_it(db: Database) -> None:
    with freeze_time(OLD):
        for number in range(3):
            told(db, number)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retention, "_TURNS", retention._TURNS.replace("LIMIT 200", "LIMIT 2"))
        assert next(retention.erase(db, clock.now_ms())) == ("messages", 2)
    assert retention.kept(db).messages == 1
    assert erase(db) == {"messages": 1, "answers": 3}
    assert retention.kept(db).since is None


def test_neither_erasing_nor_telling_what_is_kept_walks_through_the_rows(db: Database) -> None:
    told(db)
    queries = [retention._TURNS, retention._DELIVERIES]
    plans = [[str(line[-1]) for line in db.rows(f"EXPLAIN QUERY PLAN {sql}", (1, 0, 0))] for sql in queries]
    assert [plan[0].split(" (")[0] for plan in plans] == [
        "SEARCH turn USING INDEX turn_kept",
        "SEARCH outbound USING INDEX outbound_kept",
    ]
    [oldest, *_] = db.rows(f"EXPLAIN QUERY PLAN {retention._OLDEST}")
    assert str(oldest[-1]).split(" (")[0] == "SEARCH turn USING INDEX turn_kept"
    assert not any("TEMP B-TREE" in line for plan in plans for line in plan)


def test_the_wal_is_not_emptied_while_somebody_reads_an_old_state(db: Database) -> None:
    told(db)
    reading, done = threading.Event(), threading.Event()

    def read() -> None:
        with db.snapshot():
            db.rows("SELECT count(*) FROM turn")
            reading.set()
            done.wait(10)
        db.close_thread()

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(10)
    told(db, 1)
    assert not db.empty_wal()
    done.set()
    reader.join()
    assert db.empty_wal()
    assert db.path.with_name("push.db-wal").stat().st_size == 0
    assert db.one("PRAGMA busy_timeout") == (10_000,)


def test_the_file_is_to_be_written_anew_after_erasing_only(db: Database) -> None:
    with freeze_time(OLD):
        told(db, text=SECRET * 5000)
        assert not retention.wants_compacting(db)
        assert db.empty_wal()
        before = db.path.stat().st_size
    with freeze_time(NOW) as now:
        erase(db)
        now.tick(1)
        assert retention.wants_compacting(db)
        retention.compact(db)
        assert not retention.wants_compacting(db)
        assert retention.compacted_at(db) == clock.now_ms()
    assert db.empty_wal()
    assert db.path.stat().st_size == db.used_bytes < before / 3


def test_a_clock_that_was_ahead_lets_no_erased_text_stay_in_the_file(db: Database) -> None:
    with freeze_time("2036-01-01"):
        retention.compact(db)
    with freeze_time(OLD):
        told(db, text=SECRET)
    with freeze_time(NOW):
        assert not retention.wants_compacting(db)
        erase(db)
        assert retention.wants_compacting(db)
        assert clock.now_ms() > retention.compacted_at(db)
