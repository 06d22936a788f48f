"""What status says about the past: how much of it is kept, since when and for how long; and of newer settings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from freezegun import freeze_time

from push import clock
from push.audit import Audit
from push.cli import status
from push.config.load import load_or_default
from push.config.settings import Retention, Settings
from push.ledger import retention
from push.ledger.database import Database
from push.paths import Home
from push.report import shape, snapshot
from push.tasks import roles
from push.tasks.roles import CONFIG, Reading
from tests.ledger import lives

NOON = "2026-03-01T12:00:00.000Z"
DAY = 24 * 3600.0


@pytest.fixture
def settings(home: Path) -> Settings:
    (home / "config.toml").write_text('agent = "command"\ncommand = ["cat"]\nchannel = "local"\n')
    return replace(load_or_default(), retention=Retention(None, 90 * DAY, 30 * DAY, 7 * DAY))


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    with closing(Database.open(Home.at(home).push_db)) as database:
        yield database


def lines(settings: Settings) -> list[str]:
    """What status says under `Kept`."""
    text = "\n".join(status.screen(snapshot.take(settings.home, told=settings)))
    return text.partition("\nKept\n")[2].partition("\n\n")[0].split("\n") if "\nKept\n" in text else []


def test_the_counts_are_of_what_has_its_text(settings: Settings, db: Database) -> None:
    assert lines(settings) == []
    with freeze_time(NOON):
        for _ in range(3):
            lives.deliver(db, lives.answered(db))
    lives.accept(db)
    assert lines(settings) == ["  texts of 4 messages since 2026-03-01 (for ever)"]
    with freeze_time("2026-05-01T00:00:00Z"):
        assert dict(retention.erase(db, clock.now_ms())) == {"messages": 3, "answers": 3}
    forever = replace(settings, retention=replace(settings.retention, history=30 * DAY))
    [line] = lines(forever)
    assert line == "  texts of 1 message (30 d); those of 3 erased, last 2026-05-01"
    told = shape.as_json(snapshot.take(settings.home, told=forever))["kept"]
    assert told["history"] == {
        "limit": 30 * DAY,
        "messages": 1,
        "since": None,
        "erased": 3,
        "erased_at": "2026-05-01T00:00:00.000Z",
    }
    assert told["spool"] == {"limit": 7 * DAY}


def test_the_logs_are_as_old_as_the_oldest_line_of_the_oldest_file(settings: Settings) -> None:
    with freeze_time(NOON):
        audit = Audit(settings.home.audit, content=False)
        audit.record("one")
        audit.close()
    settings.home.audit.rename(settings.home.audit.with_name("audit.jsonl.2"))
    settings.home.audit.write_text(json.dumps({"ts_ms": clock.now_ms(), "event": "two"}) + "\n")
    settings.home.logs.mkdir()
    (settings.home.logs / "run.log").write_text("2026-02-01T12:00:00.000Z INFO run[1] push: hello\n")
    assert lines(settings) == ["  audit since 2026-03-01 (90 d), logs since 2026-02-01 (30 d)"]


def needs(settings: Settings) -> list[tuple[str, str]]:
    return [(note.what, note.command) for note in snapshot.take(settings.home, told=settings).attention]


def test_a_configuration_that_changed_after_it_was_read_needs_a_reload(settings: Settings) -> None:
    assert settings.path is not None
    role = roles.take_consumer(settings.home.run, "push run")
    assert needs(settings) == []  # a terminal's own consumer does not reload
    role.tell(Reading(1, 1, clock.now_ms()), "read")
    os.utime(settings.path, (1_000_000, 1_000_000))
    assert needs(settings) == []
    later = clock.now_ms() / 1000 + 10
    os.utime(settings.path, (later, later))
    changed = f"The configuration has changed since process {os.getpid()} read it."
    assert needs(settings) == [(changed, "push reload")]
    role.close()
    assert needs(settings) == []


def test_a_configuration_that_was_refused_says_why(settings: Settings) -> None:
    assert settings.path is not None
    os.utime(settings.path, (1_000_000, 1_000_000))
    role = roles.take_consumer(settings.home.run, "push run")
    role.tell(Reading(2, 2, 1, "config.toml is not valid", "line 3", "push config validate"), CONFIG)
    assert needs(settings) == [
        (
            f"The configuration is not in effect in process {os.getpid()}: config.toml is not valid.",
            "push config validate",
        )
    ]
    role.close()
