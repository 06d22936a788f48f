"""kill -9 of the gateway around state.json: a session is kept, or begun anew with history; the message is answered."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.site import SESSION_AGENT, Site, site
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

SEAMS = ("state.before_replace", "state.replaced", "turn.session_saved", "turn.session_forgotten")


@pytest.fixture
def place(home: Path) -> Iterator[Site]:
    with site(home, agent=SESSION_AGENT, kind="claude") as made:
        yield made


@pytest.mark.parametrize("seam", ["state.before_replace", "state.replaced", "turn.session_saved"])
def test_the_session_of_a_finished_run_is_kept(place: Site, seam: str) -> None:
    gateway = place.serve(seams=f"{seam}=kill")
    terminal = place.chat("ann", "one", "two")
    assert gateway.wait() == -signal.SIGKILL
    place.serve()
    assert terminal.wait() == 0, terminal.err
    assert terminal.out == "re: one\nre: two\n"
    assert place.entries() == ["--session-id one", "--resume two"]
    check(place)


@pytest.mark.parametrize("seam", ["state.before_replace", "state.replaced"])
def test_a_new_session_is_announced_once(place: Site, seam: str) -> None:
    place.serve().stop()
    place.say("ann", "/new", "one")
    gateway = place.serve(seams=f"{seam}=kill")
    assert gateway.wait() == -signal.SIGKILL
    place.serve()
    place.until_states("answered", "answered")
    assert place.listen("ann").out == "A new session begins with your next message.\nre: one\n"
    check(place)


@pytest.mark.parametrize("seam", ["turn.session_forgotten", "turn.running_committed", "turn.runner_started"])
def test_killed_in_the_retry_with_a_fresh_session(place: Site, seam: str) -> None:
    gateway = place.serve()
    assert place.chat("ann", "one").wait() == 0
    gateway.stop()
    (session,) = (place.assistant / "sessions").iterdir()
    session.unlink()
    nth = {"turn.session_forgotten": 1}.get(seam, 2)
    gateway = place.serve(seams=f"{seam}=kill@{nth}")
    terminal = place.chat("ann", "two")
    assert gateway.wait() == -signal.SIGKILL
    place.serve()
    assert terminal.wait() == 0, terminal.err
    assert terminal.out == "re: two\n"
    assert place.entries() == ["--session-id one", "--resume two", "--session-id two"]
    check(place)


def test_an_interrupted_run_goes_on_in_its_session(place: Site) -> None:
    once = place.root / "once"
    place.serve(seams=f"runner.agent_ended=kill:{once}")
    terminal = place.chat("ann", "one")
    assert terminal.wait() == 0, terminal.err
    assert place.entries() == ["--session-id one", "--resume one"]
    check(place)
