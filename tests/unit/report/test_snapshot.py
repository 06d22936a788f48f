"""The snapshot behind `push status`: right, complete, and taken whatever is broken."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from freezegun import freeze_time

from push.errors import ConfigError, DependencyError, PushError
from push.ledger import outbox, turns
from push.ledger.database import Database
from push.locks import FileLock
from push.paths import Home
from push.report import shape, snapshot
from push.tasks import roles
from tests.ledger import lives, network

NOON = 1_772_366_400_000


@pytest.fixture
def place(home: Path) -> Home:
    return Home.at(home)


@pytest.fixture
def db(place: Home) -> Iterator[Database]:
    """The home's ledger."""
    with closing(Database.open(place.push_db)) as database:
        yield database


def needs(place: Home) -> list[tuple[str, str]]:
    """What needs a person, and the command."""
    return [(note.what, note.command) for note in snapshot.take(place).attention]


def test_nothing_is_there_yet_and_nothing_is_made(place: Home) -> None:
    taken = snapshot.take(place)
    assert (taken.backlog, taken.trouble, taken.state_trouble) == (None, None, None)
    assert (taken.holders, taken.running, taken.attention, taken.files) == ((), (), (), {})
    assert list(place.root.iterdir()) == []


def test_who_lives_is_shown_with_what_its_loops_do(place: Home) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        role = roles.take_consumer(place.run, "push run")
        now.tick(5)
        role.beat("sweep", "next in 30 s")
        [holder] = snapshot.take(place).holders
        role.close()
    assert (holder.role, holder.command, holder.started_at) == ("consumer-0", "push run", NOON)
    assert holder.loops == {"sweep": (NOON + 5000, "next in 30 s")}
    assert snapshot.take(place).holders == ()


def test_a_loop_that_went_silent_needs_a_person(place: Home) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        role = roles.take_consumer(place.run, "push run")
        role.beat("sweep", "next in 30 s")
        role.beat("poll", "one that beats only once")
        now.tick(99)
        assert needs(place) == []
        now.tick(2)
        assert [command for _, command in needs(place)] == ["push doctor"]
        assert "sweep" in needs(place)[0][0]
        role.close()


def test_a_running_turn_without_a_process_says_so(place: Home, db: Database) -> None:
    started = lives.start(db, lives.accept(db))
    [run] = snapshot.take(place).running
    assert (run.turn.id, run.turn.agent, run.turn.attempt, run.pid) == (started.id, "claude", 1, None)


def test_messages_that_nobody_answers_need_a_gateway(place: Home, db: Database) -> None:
    lives.accept(db)
    assert needs(place) == [("1 message open, and nothing answers.", "push run")]
    role = roles.take_consumer(place.run, "push run")
    assert needs(place) == []
    role.close()
    lives.accept(db)
    assert needs(place) == [("2 messages open, and nothing answers.", "push run")]


def test_postponed_turns_are_named_with_their_reason(place: Home, db: Database) -> None:
    role = roles.take_consumer(place.run, "push run")
    for user in ("ann", "bob", "cyd", "dan", "eve", "fay"):
        turns.postpone(db, lives.accept(db, lives.message(user)), "disk_full", 60)
    taken = snapshot.take(place)
    assert [row.id for row in taken.postponed] == ["t1", "t2", "t3", "t4", "t5"]
    assert {row.reason for row in taken.postponed} == {"disk_full"}
    assert needs(place) == [("6 turns postponed.", "push retries list")]
    role.close()


def test_answers_that_no_terminal_printed_need_one(place: Home, db: Database) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        lives.answered(db, "ann")
        now.tick(10)
        assert needs(place) == []  # one that lives has a moment
        now.tick(1)
        assert needs(place) == [("1 answer for ann waiting for a terminal to print.", "push chat --user ann")]


def test_what_failed_needs_a_person(place: Home, db: Database) -> None:
    for state in ("failed", "unknown", "unknown"):
        outbox.end(db, lives.sending(db, lives.answered(db)), state, "no")
    lives.deliver(db, lives.fail(db, lives.accept(db)))
    assert needs(place) == [
        ("1 delivery failed for good.", "push retries list"),
        ("2 deliveries may have arrived, or not.", "push retries list"),
        ("1 turn failed.", "push retries list"),
    ]


def test_answers_that_a_service_does_not_take_need_a_person_after_minutes(place: Home, db: Database) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        for chat in ("5", "6"):
            lives.answer(db, lives.start(db, lives.accept(db, network.message(chat=chat))))
        now.tick(300)
        assert needs(place) == []
        now.tick(1)
        assert needs(place) == [
            ("2 answers on the way, the oldest for 5 min. A chat takes about one a second.", "push retries list")
        ]


def test_a_channel_that_is_not_being_read_needs_a_person_until_it_is(place: Home) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        role = roles.take(place.run, "poll", "push run")
        role.beat("telegram", "webhook_active; asking again in 30 s")
        assert needs(place) == [("telegram is not being read.", "push doctor")]
        for note, needed in (("reading as @bot", False), ("closed: token_rejected", True)):
            now.tick(0.001)
            role.beat("telegram", note, *([] if needed else ["telegram.good"]))
            assert bool(needs(place)) is needed
        role.beat("telegram.good", "last good poll")
        now.tick(300)  # a poll that never ends
        assert needs(place) == [("telegram has not been read for 5 min.", "push doctor")]
        role.close()


@pytest.mark.parametrize(("silence", "deaf"), [(299, False), (300, True)])
@pytest.mark.parametrize("was_heard", [True, False])
def test_a_channel_is_deaf_where_it_has_not_answered_for_five_minutes(
    place: Home, silence: int, *, was_heard: bool, deaf: bool
) -> None:
    with freeze_time("2026-03-01T12:00:00Z") as now:
        role = roles.take(place.run, "poll", "push run")
        if was_heard:
            now.tick(1000)
            role.beat("telegram.good", "last good poll")
        role.beat("telegram", "timeout; asking again in 30 s")
        now.tick(silence)
        [channel] = snapshot.take(place).channels
        role.close()
        assert channel.deaf_since == (NOON + was_heard * 1_000_000 if deaf else None)
        assert (channel.note, channel.good_at is not None) == ("timeout; asking again in 30 s", was_heard)
    assert snapshot.take(place).channels == ()


def test_a_poller_without_a_channel_names_none(place: Home) -> None:
    role = roles.take(place.run, "poll", "push run")
    role.beat("poll", "no channel to poll; the terminal commits its own messages")
    assert snapshot.take(place).channels == ()
    role.close()


def test_sizes_and_what_is_left_in_the_spool(place: Home, db: Database) -> None:
    running = lives.start(db, lives.accept(db))
    place.state.write_text("{}")
    for name in (f"t{running.id}-1", "t7-1", "t7-2", "probe-claude"):
        (place.spool / name).mkdir(parents=True)
    taken = snapshot.take(place)
    assert taken.leftover == 2
    assert taken.files["state.json"] == 2
    assert taken.files["push.db-wal"] > 0
    assert taken.free is not None
    assert taken.free > 0


def test_a_full_disk_and_a_big_wal_need_a_person(place: Home, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    lives.accept(db)
    role = roles.take_consumer(place.run, "push run")
    monkeypatch.setattr(snapshot, "FREE_BYTES", 1 << 60)
    monkeypatch.setattr(snapshot, "_BIG_WAL_BYTES", 10)
    assert [command for _, command in needs(place)] == ["push doctor --fix", "push doctor"]
    role.close()


def test_a_damaged_state_json_is_said_and_the_rest_is_shown(place: Home, db: Database) -> None:
    lives.accept(db)
    place.state.write_text("{")
    taken = snapshot.take(place)
    assert taken.backlog is not None
    assert taken.state_trouble is not None
    assert ("push doctor --fix") in [note.command for note in taken.attention]


def rubbish(path: Path) -> None:
    path.write_bytes(b"rubbish" * 999)


def newer(path: Path) -> None:
    Database.open(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 99")


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE conversations (id INTEGER)")


def test_a_ledger_that_cannot_be_read_now_is_said(place: Home) -> None:
    rubbish(place.push_db)
    taken = snapshot.take(place)
    assert taken.backlog is None
    assert taken.trouble is not None
    assert taken.trouble.exit_code == 5
    assert [note.command for note in taken.attention] == ["push backup restore --help"]


@pytest.mark.parametrize(("spoil", "kind", "code"), [(newer, DependencyError, 4), (foreign, ConfigError, 3)])
def test_a_ledger_that_is_not_ours_to_read_is_an_error(
    place: Home, spoil: Callable[[Path], None], kind: type[PushError], code: int
) -> None:
    spoil(place.push_db)
    with pytest.raises(kind) as caught:
        snapshot.take(place)
    assert caught.value.exit_code == code


def test_a_role_file_in_the_middle_of_being_written_does_not_mean_that_nobody_lives(place: Home, db: Database) -> None:
    lives.accept(db)
    lock = FileLock.take(place.run / "consumer-0.role")
    assert lock is not None
    lock.write("{")
    assert snapshot.take(place).holders == ()
    assert needs(place) == []
    lock.close()


def test_its_json_holds_no_text_and_names_every_part(place: Home, db: Database) -> None:
    lives.rich(db)
    told = shape.as_json(snapshot.take(place))
    page = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "output.md").read_text()
    for key in told:
        assert f"`{key}`" in page, key
    assert told["turns"] == {
        "queued": 1,
        "running": 1,
        "waiting": 1,
        "interrupted": 0,
        "oldest_open_at": told["turns"]["oldest_open_at"],
        "held": 0,
        "postponed": 1,
        "failed": 1,
    }
    assert told["deliveries"]["unknown"] == 1
    assert told["running"][0]["conversation"] == "local:gus"
    assert told["running"][0]["elapsed"] >= 0
    assert told["ledger"] == {"ok": True, "present": True}
    assert "hello" not in json.dumps(told)
