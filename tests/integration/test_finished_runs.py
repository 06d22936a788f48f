"""What an agent finished reaches the person whatever happened to Push's own files, or was wished, meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.site import GATED_AGENT, SESSION_AGENT, Site, site
from tests.crash.verdict import check


@pytest.fixture
def sessions(home: Path) -> Iterator[Site]:
    """A home whose agent speaks claude's protocol."""
    with site(home, agent=SESSION_AGENT, kind="claude") as made:
        yield made


def _reach(place: Site, pause: Path) -> None:
    place.until(pause.with_name(f"{pause.name}.reached").exists, "the seam")


def test_a_state_that_was_damaged_during_the_run_does_not_cost_the_answer(sessions: Site) -> None:
    pause = sessions.root / "pause"
    sessions.serve(seams=f"turn.runner_ended=pause:{pause}")
    sessions.commit(("ann", "one"))
    _reach(sessions, pause)
    state = sessions.root / "state.json"
    state.write_text("{ damaged")
    pause.touch()
    sessions.until_settled(1)
    (turn,) = sessions.turns()
    assert (turn.state, turn.reply) == ("answered", "re: one")
    assert state.read_text() == "{ damaged"  # for `push doctor --fix`, which takes the session from the ledger
    assert sessions.run("doctor", "--fix").wait() == 0
    sessions.commit(("ann", "two"))
    sessions.until_states("answered", "answered")
    assert sessions.entries() == ["--session-id one", "--resume two"]
    check(sessions)


def test_a_wish_to_cancel_also_ends_the_retry_in_a_fresh_session(sessions: Site) -> None:
    """It is said while the run that found no session is over, and the next one has not begun."""
    sessions.serve()
    sessions.commit(("ann", "one"))
    sessions.until_states("answered")
    sessions.end_all()
    (session,) = (sessions.assistant / "sessions").iterdir()
    session.unlink()
    pause = sessions.root / "pause"
    sessions.serve(seams=f"turn.session_forgotten=pause:{pause}")
    sessions.commit(("ann", "two"))
    _reach(sessions, pause)
    assert sessions.cancel(2).wait() == 0
    pause.touch()
    sessions.until_settled(2)
    assert sessions.states() == ["answered", "cancelled"]
    assert sessions.entries() == ["--session-id one", "--resume two"]
    check(sessions)


def test_a_wish_to_cancel_outweighs_that_the_gateway_stops(home: Path) -> None:
    """The gateway ends a run to resume it at its next start; meanwhile its owner says that it shall not go on."""
    with site(home, agent=GATED_AGENT.replace("m=$(cat)", "trap '' TERM\nm=$(cat)"), more='shutdown = "stop"') as place:
        gateway = place.serve()
        place.commit(("ann", "one"), ("ann", "two"))
        place.until(place.entries, "the agent at work")
        gateway.signal(signal.SIGTERM)
        place.until((place.root / "spool" / "t1-1" / "cancel").exists, "a run that is to end")
        assert place.cancel(1).wait() == 0
        gateway.wait()
        place.gate.touch()
        place.serve()
        place.until_settled(2)
        assert place.states() == ["cancelled", "answered"]
        assert place.entries() == ["one", "two"]
        check(place)
