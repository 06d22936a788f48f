"""Every exit code is reached by the real `push`, from what may happen to a person, and the page lists each."""

from __future__ import annotations

import re
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from push import errors
from tests.crash.site import AGENT, GATED_AGENT, Process, Site, site
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "output.md"

#: A defect: the clock fails wherever it is asked.
DEFECT = "import push.clock\ndef broken(): raise ZeroDivisionError\npush.clock.now = push.clock.now_ms = broken\n"


@pytest.fixture
def place(home: Path) -> Iterator[Site]:
    """A home with an agent that answers at once."""
    with site(home, agent=AGENT.replace("sleep 0.1\n", "")) as made:
        yield made


def nothing(place: Site) -> None:
    """The home as it is."""


def answered(place: Site) -> None:
    assert place.run("chat", "--user", "ann", "hello").wait() == 0


def agent_fails(place: Site) -> None:
    place.agent.write_text("#!/bin/sh\nexit 3\n")


def wrong_configuration(place: Site) -> None:
    place.config.write_text("colour = 1\n")


def no_configuration(place: Site) -> None:
    place.config.unlink()


def newer_ledger(place: Site) -> None:
    answered(place)
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("PRAGMA user_version = 99")


def no_ledger_at_all(place: Site) -> None:
    place.db.write_bytes(b"this is no database " * 200)


def damaged_state(place: Site) -> None:
    answered(place)
    (place.root / "state.json").write_text("{")


def gateway_runs(place: Site) -> None:
    place.serve()


CASES: list[tuple[int, Callable[[Site], None], str]] = [
    (0, nothing, "status"),
    (0, answered, "turns show 1"),
    (0, answered, "verify"),
    (1, nothing, "turns show 999"),
    (1, nothing, "conversations show local:nobody"),
    (1, agent_fails, "chat --user ann hello"),
    (1, damaged_state, "verify"),
    (1, nothing, "reload"),
    (2, nothing, "staus"),
    (2, nothing, "status --colour"),
    (2, nothing, "turns show twelve"),
    (2, nothing, "retries now"),
    (3, wrong_configuration, "status"),
    (3, wrong_configuration, "config validate"),
    (3, no_configuration, "run"),
    (3, no_configuration, "config validate"),
    (4, newer_ledger, "run"),
    (4, newer_ledger, "turns list"),
    (4, newer_ledger, "verify"),
    (5, no_ledger_at_all, "run"),
    (5, no_ledger_at_all, "status"),
    (5, no_ledger_at_all, "turns list"),
    (6, gateway_runs, "run"),
    (6, gateway_runs, "poll"),
    (6, answered, "turns cancel 1"),
    (6, answered, "retries now t1"),
]


@pytest.mark.parametrize(("code", "arrange", "words"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_an_exit_code_is_reached(place: Site, code: int, arrange: Callable[[Site], None], words: str) -> None:
    arrange(place)
    process = place.run(*words.split())
    assert process.wait() == code, process.out + process.err
    if process.err.startswith("error: "):
        assert [line.partition(":")[0] for line in process.err.splitlines()[:3]] == ["error", "why", "next"]


@pytest.mark.parametrize("words", ["status", "turns list"])
def test_a_defect_ends_with_70(place: Site, words: str, tmp_path: Path) -> None:
    answered(place)
    (tmp_path / "sitecustomize.py").write_text(DEFECT)
    process = place.start(*words.split(), env={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    assert process.wait() == 70, process.err
    assert process.err.startswith("error: unexpected ZeroDivisionError at ")


def _interrupted(place: Site, process: Process) -> None:
    process.signal(signal.SIGINT)
    assert process.wait() == 130, process.err


def test_ctrl_c_at_an_open_question_ends_with_130(place: Site) -> None:
    place.agent.write_text(GATED_AGENT)
    process = place.start("chat", "--user", "ann", "hello")
    place.until(place.entries, "an agent at work")
    _interrupted(place, process)
    place.gate.touch()
    place.until(lambda: not place.runners(), "the end of the run")


def test_ctrl_c_at_a_window_that_watches_ends_with_130(place: Site) -> None:
    process = place.start("status", "--watch")
    place.until(lambda: "Push in" in process.out, "the first picture")
    _interrupted(place, process)


def test_the_page_lists_every_exit_code_and_every_one_is_reached_twice() -> None:
    section = PAGE.read_text().partition("## Exit codes\n")[2]
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}
    kinds = {kind.exit_code for kind in errors.PushError.__subclasses__()}
    assert listed == kinds | {errors.EXIT_OK, errors.EXIT_UNEXPECTED, errors.EXIT_INTERRUPTED}
    commands = {code: {words.split()[0] for one, _, words in CASES if one == code} for code in listed}
    assert all(len(words) >= 2 for code, words in commands.items() if code not in {70, 130})  # those have their own
