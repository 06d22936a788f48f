"""The exchange of a process's parts: when nothing, and when everything, goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push import telemetry
from push.app import reloading
from push.app.gear import gear_of as gear_of_settings
from push.app.gear import open_gear
from push.app.generation import Generation, Parts, Seats
from push.app.reloading import Reloading
from push.config import load
from push.config.settings import Settings
from push.errors import ConfigError, PushError
from push.ledger.database import Database
from push.tasks import roles
from push.tasks.roles import Reading
from push.tasks.stop import StopFlag
from push.tasks.turns import Gear

_FILE = 'channel = "local"\nagent = "command"\ncommand = ["cat"]\nturns_workers = {workers}\n'
_SECRETS = 'voice.openai_api_key = "sk-{name}-{name}"\n'


class Running:
    """A process's parts at work, without the process."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.write(2)
        self.gear = open_gear(load())
        self.steered: list[Gear] = []
        self.seats = Seats(self.gear.settings.home.run, Parts("push run", poll=True, consume=True))
        self.work = Generation(self.gear, self.seats)
        self.reloading = Reloading(self.work, self.seats, load, self.steered.append)
        self.work.answer()
        self.work.read()
        self.reloading.begun()

    def write(self, workers: int, name: str = "one") -> None:
        (self._home / "config.toml").write_text(_FILE.format(workers=workers) + _SECRETS.format(name=name))

    @property
    def reading(self) -> Reading:
        found = [holder.reading for holder in roles.living(self.gear.settings.home.run)]
        (told,) = [reading for reading in found if reading is not None]
        return told

    def prepared(self) -> Generation:
        fresh = self.reloading.prepare()
        assert isinstance(fresh, Generation)
        return fresh

    def close(self) -> None:
        assert self.reloading.work.stop()
        assert self.reloading.outlasted(10)
        self.reloading.work.discard()
        self.seats.close()
        self.gear.db.close()


@pytest.fixture
def running(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(telemetry, "configure", lambda _settings, _role: None)
    made = Running(home)
    yield made
    made.close()


def test_the_new_parts_work_on_the_same_ledger_and_know_old_secrets(running: Running) -> None:
    running.write(3, "two")
    fresh = running.prepared()
    assert running.reloading.work is running.work, "nothing has ended yet"
    assert running.reloading.exchange(fresh) is None
    settings = running.reloading.work.gear.settings
    assert settings.turns_workers == 3
    assert fresh.gear.db is running.gear.db
    assert set(settings.secret_values()) == {"sk-one-one", "sk-two-two"}
    assert running.steered == [fresh.gear]
    assert (running.reading.begun, running.reading.ended, running.reading.refused) == (2, 2, "")


def test_the_new_parts_can_be_ended_before_they_begin(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an agent that an end has just ended would be run again, and be ended again."""
    fresh = running.prepared()
    begin = fresh.answer
    steered: list[list[Gear]] = []

    def answer() -> None:
        steered.append(list(running.steered))
        begin()

    monkeypatch.setattr(fresh, "answer", answer)
    assert running.reloading.exchange(fresh) is None
    assert steered == [[fresh.gear]]


def test_what_cannot_begin_gives_way_to_the_old_settings(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.write(3, "two")
    fresh = running.prepared()

    def no_thread() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(fresh, "read", no_thread)
    assert isinstance(running.reloading.exchange(fresh), PushError)
    work = running.reloading.work
    assert work not in {fresh, running.work}
    assert work.gear.settings.turns_workers == 2
    assert "sk-two-two" in work.gear.settings.secret_values(), "it may still turn up somewhere"
    assert running.reading.refused == "unexpected RuntimeError"
    assert running.reading.ended == running.reading.begun == 2


@pytest.mark.parametrize("step", ["__init__", "introduce"])
def test_parts_that_are_not_used_leave_no_descriptor(
    running: Running, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A configuration that stays wrong is read anew for months."""
    made: list[StopFlag] = []
    closed: list[StopFlag] = []

    def refuse(_self: object, *_given: object) -> None:
        raise ConfigError("no", why="because", hint="push init")

    def gear_of(settings: Settings, db: Database) -> Gear:
        gear = gear_of_settings(settings, db)
        made.append(gear.stop)
        return gear

    monkeypatch.setattr(reloading, "gear_of", gear_of)
    monkeypatch.setattr(Generation, step, refuse)
    close = StopFlag.close

    def note(flag: StopFlag) -> None:
        closed.append(flag)
        close(flag)

    monkeypatch.setattr(StopFlag, "close", note)
    assert isinstance(running.reloading.prepare(), PushError)
    assert closed == made != []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConfigError("no", why="because", hint="push init"), "no"),
        (OSError(24, "Too many open files"), "Too many open files"),
        (ZeroDivisionError(), "unexpected ZeroDivisionError"),
    ],
)
def test_whatever_goes_wrong_before_it_is_told_and_changes_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def refuse(_self: Generation) -> None:
        raise error

    monkeypatch.setattr(Generation, "introduce", refuse)
    refusal = running.reloading.prepare()
    assert isinstance(refusal, PushError)
    assert refusal.message == running.reading.refused == said
    assert refusal.why
    assert refusal.hint
    assert running.reloading.work is running.work
    assert not running.work.gear.stop.is_set
