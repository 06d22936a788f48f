"""Forgetting, in the background of the process that leads, and by hand: what goes, and what is left alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from freezegun import freeze_time

from push import clock
from push.agents import process, spool
from push.agents.spool import Spool
from push.audit import Audit
from push.config.settings import Retention
from push.errors import TemporaryError
from push.ledger import retention as texts
from push.ledger.database import Database
from push.paths import Home
from push.tasks import retention, roles
from push.tasks.retention import RetentionLoop
from push.tasks.stop import StopFlag
from push.tasks.turns import Gear
from tests.ledger import lives

DAY = 24 * 3600.0
FOREVER = Retention(None, None, None, None)
OLD, NOW = "2026-01-01T12:00:00Z", "2026-03-01T12:00:00Z"


class Bench:
    """A loop that is driven by hand."""

    def __init__(self, root: Path) -> None:
        self.home = Home.at(root)
        self.home.make()
        self.db = Database.open(self.home.push_db)
        self.stop = StopFlag()
        self.beats: list[tuple[str, str]] = []
        self.limits = FOREVER
        self.leads = True
        self.loop = RetentionLoop(self._gear(), lambda: self.leads, lambda *beat: self.beats.append(beat))

    def _gear(self) -> Gear:
        bench = self

        class Settings:
            home = bench.home

            @property
            def retention(self) -> Retention:
                return bench.limits

        audit = Audit(self.home.audit, content=False)
        return Gear(cast("Any", Settings()), self.db, cast("Any", None), audit, self.stop, cast("Any", None))

    def limit(self, **seconds: float) -> None:
        self.limits = replace(self.limits, **seconds)

    def folder(self, name: str, days: float = 0) -> Path:
        """A folder of the spool that was last touched so many days ago."""
        made = spool.prepare(self.home.spool, name, prompt=b"", instructions="", free_bytes=0).dir
        at = clock.now_ms() / 1000 - days * DAY
        for path in (*made.iterdir(), made):
            os.utime(path, (at, at))
        return made


@pytest.fixture
def bench(home: Path) -> Iterator[Bench]:
    made = Bench(home)
    yield made
    made.stop.set()
    made.stop.close()
    made.db.close()


def _told(bench: Bench) -> None:
    with freeze_time(OLD):
        lives.deliver(bench.db, lives.answered(bench.db))


def test_texts_are_erased_and_gone_from_the_files(bench: Bench) -> None:
    with freeze_time(OLD):
        turn = lives.start(bench.db, lives.accept(bench.db, lives.message("ann", "SECRETMARK")))
        lives.deliver(bench.db, lives.answer(bench.db, turn, "SECRETMARK"))
    assert bench.loop.once() == "nothing was old enough"
    bench.limit(history=30 * DAY)
    assert bench.loop.once() == "erased 1 messages, 1 answers"
    left = b"".join(path.read_bytes() for path in bench.home.root.glob("push.db*"))
    assert b"SECRETMARK" not in left
    [record] = [json.loads(line) for line in bench.home.audit.read_text().splitlines()]
    assert (record["event"], record["messages"], record["answers"]) == ("texts_erased", 1, 1)
    assert bench.loop.once() == "nothing was old enough"


def test_what_remains_is_written_anew_once_a_day_and_only_where_it_is_little(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.limit(history=30 * DAY)
    with freeze_time(NOW) as now:
        for days, written in ((0, True), (0.5, False), (0.6, True)):
            now.tick(days * DAY)
            _told(bench)
            now.tick(1)
            bench.loop.once()
            assert (texts.compacted_at(bench.db) == clock.now_ms()) is written
        monkeypatch.setattr(retention, "COMPACT_BYTES", 0)
        now.tick(2 * DAY)
        _told(bench)
        bench.loop.once()
        assert texts.wants_compacting(bench.db)
        now.tick(1)
        assert "wrote push.db anew, without what was erased" in retention.tidy(bench.home, FOREVER)
        assert not texts.wants_compacting(bench.db)


def test_by_hand_it_is_not_written_anew_beside_a_gateway_where_that_takes_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "COMPACT_BYTES", 0)
    _told(bench)
    list(texts.erase(bench.db, clock.now_ms()))
    role = roles.take_consumer(bench.home.run, "push run")
    retention.tidy(bench.home, FOREVER)
    assert texts.wants_compacting(bench.db)
    role.close()
    retention.tidy(bench.home, FOREVER)
    assert not texts.wants_compacting(bench.db)


def test_that_it_cannot_be_written_anew_holds_nothing_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_db: Database) -> None:
        raise TemporaryError("no room", why="the disk is full", hint="df -h", code="disk_full")

    monkeypatch.setattr(Database, "rewrite", full)
    _told(bench)
    bench.limit(history=30 * DAY)
    assert bench.loop.once() == "erased 1 messages, 1 answers"
    assert retention.tidy(bench.home, FOREVER) == []
    assert bench.home.push_db.with_name("push.db-wal").stat().st_size == 0


def test_it_ends_between_two_transactions(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _told(bench)
    bench.limit(history=30 * DAY)
    bench.stop.set()
    assert bench.loop.once() == "erased 1 messages"
    assert not texts.compacted_at(bench.db)


def _old_files(bench: Bench) -> None:
    for name in ("run.log", "chat.log"):
        (bench.home.logs / name).write_text(f"{OLD} INFO run[1] push: hello\n")
    (bench.home.logs / "agent.txt").write_text("not a log of ours\n")
    bench.home.audit.write_text(json.dumps({"ts_ms": clock.from_iso(OLD), "event": "x"}) + "\n")


def test_old_logs_go_and_other_files_stay(bench: Bench) -> None:
    _old_files(bench)
    bench.limit(audit=90 * DAY, logs=30 * DAY)
    with freeze_time(NOW):
        assert "removed 2 old logs" in retention.tidy(bench.home, bench.limits)
    assert [path.name for path in bench.home.logs.iterdir()] == ["agent.txt"]
    assert bench.home.audit.with_name("audit.jsonl.1").exists()
    with freeze_time("2026-04-02T12:00:00Z"):
        assert bench.loop.once() == "removed 1 old file of the audit log"


def test_forever_is_for_ever(bench: Bench) -> None:
    _old_files(bench)
    bench.folder("probe-claude", days=1000)
    _told(bench)
    assert bench.loop.once() == "nothing was old enough"


def test_folders_of_the_spool_that_nobody_needs_go(bench: Bench) -> None:
    bench.limit(spool=7 * DAY)
    running = lives.start(bench.db, lives.accept(bench.db))
    kept = [bench.folder(f"t{running.id}-1", days=30), bench.folder("probe-pi", days=6)]
    gone = [bench.folder("t99-1", days=8), bench.folder("probe-claude", days=8), bench.folder("j-x-1", days=8)]
    assert bench.loop.once() == "removed 3 old folders of the spool"
    assert [path.exists() for path in (*kept, *gone)] == [True] * 2 + [False] * 3


def test_a_folder_whose_runner_lives_stays(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.limit(spool=7 * DAY)
    folder = bench.folder("probe-claude", days=30)
    monkeypatch.setattr(process, "living_runner", lambda found: 7 if found == Spool(folder) else None)
    assert bench.loop.once() == "nothing was old enough"
    assert folder.exists()


def test_a_big_wal_is_emptied(bench: Bench) -> None:
    wal = bench.home.push_db.with_name("push.db-wal")
    lives.accept(bench.db)
    size = wal.stat().st_size
    assert retention.empty_big_wal(bench.db, size + 1) == []
    assert retention.empty_big_wal(bench.db, size)[0].startswith("emptied push.db-wal (")
    assert wal.stat().st_size == 0


def test_without_a_ledger_or_with_one_that_is_broken_the_logs_go(home: Path) -> None:
    place = Home.at(home)
    place.make()
    for content in (None, b"no database" * 100):
        (place.logs / "run.log").write_text(f"{OLD} INFO run[1] push: hello\n")
        if content:
            place.push_db.write_bytes(content)
        assert retention.tidy(place, replace(FOREVER, logs=DAY, spool=DAY)) == ["removed 1 old log"]


# -- the thread ------------------------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(retention, "_LOOK_SECONDS", 0.01)


def until(condition: Callable[[], bool]) -> None:
    deadline = clock.monotonic() + 10
    while not condition():
        assert clock.monotonic() < deadline


@pytest.mark.usefixtures("quick")
def test_one_process_does_it_and_says_so(bench: Bench) -> None:
    bench.leads = False
    bench.loop.start()
    until(lambda: bench.beats[-1:] == [("retention", "another process leads")])
    bench.leads = True
    until(lambda: bench.beats[-1] == ("retention", "nothing was old enough"))
    bench.stop.set()
    assert bench.loop.join(5)


@pytest.mark.usefixtures("quick")
def test_it_survives_an_outage_of_the_ledger(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _told(bench)
    bench.limit(history=30 * DAY)
    real, failing = Database.rows, True

    def rows(self: Database, *words: Any) -> Any:
        if failing:
            raise TemporaryError("the ledger is away", why="a test", hint="push doctor", code="ledger_locked")
        return real(self, *words)

    monkeypatch.setattr(Database, "rows", rows)
    bench.loop.start()
    until(lambda: bench.beats[-1:] == [("retention", "trouble; its log says more")])
    failing = False
    until(lambda: bench.beats[-1][1].startswith("erased 1 messages"))
    bench.stop.set()
    assert bench.loop.join(5)
