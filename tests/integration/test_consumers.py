"""Several consumers on one home: who works, and who goes on with what another one left."""

from __future__ import annotations

import signal

import pytest

from tests.crash.site import Site
from tests.crash.verdict import check

#: Far less than the sweep's period: what is tested here must not wait for it.
PROMPT_SECONDS = 12.0


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("who", ["leader", "other"])
def test_what_one_consumer_leaves_another_harvests_soon(gated: Site, who: str, how: str) -> None:
    """A graceful stop is noticed by those that live, a kill by whoever starts next, whichever of them sweeps."""
    leader, other = gated.serve("consumer"), gated.serve("consumer")
    working, idle = (leader, other) if who == "leader" else (other, leader)
    idle.signal(signal.SIGSTOP)
    gated.say("ann", "one")
    gated.until(gated.entries, "an agent at work")
    idle.signal(signal.SIGCONT)
    if how == "stop":
        assert working.stop() == 0
    else:
        working.kill()
        gated.serve("consumer")
    gated.gate.touch()
    gated.until(lambda: gated.states() == ["answered"], "the harvest", PROMPT_SECONDS)
    assert gated.entries() == ["one"]
    assert gated.listen("ann").out == "re: one\n"
    check(gated)
