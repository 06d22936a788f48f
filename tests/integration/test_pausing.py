"""A paused conversation beside the others, with real processes."""

from __future__ import annotations

from tests.crash.site import Site
from tests.crash.verdict import check


def test_it_takes_messages_answers_commands_and_goes_on_when_it_is_resumed(gated: Site) -> None:
    gated.serve()
    gated.commit(("ann", "one"))
    gated.until(gated.entries, "an agent at work")
    assert gated.run("conversations", "pause", "local:ann").wait() == 0
    gated.commit(("ann", "two"), ("ann", "/now three"), ("ann", "/status"), ("bob", "four"))
    gated.gate.touch()
    gated.until_states("answered", "queued", "queued", "answered", "answered")  # what ran went on
    assert "This conversation is paused" in gated.listen("ann").out
    assert sorted(gated.entries()) == ["four", "one"]
    gated.end_all()

    gated.serve()  # it survives a restart
    gated.commit(("bob", "five"))
    gated.until_states("answered", "queued", "queued", "answered", "answered", "answered")
    assert "three" not in gated.entries()
    resumed = gated.run("conversations", "resume", "local:ann")
    assert resumed.wait() == 0
    assert resumed.out == "local:ann goes on.\n"
    gated.until_settled(6)
    assert gated.entries()[-2:] == ["three", "two"]
    check(gated)


def test_a_drain_ends_though_something_waits_there(place: Site) -> None:
    place.commit(("ann", "one"))
    assert place.run("conversations", "pause", "local:ann").wait() == 0
    place.commit(("ann", "/now two"))
    assert place.run("consumer", "--drain").wait() == 0
    assert place.states() == ["queued", "queued"]
    told = place.run("chat", "--user", "ann", "--no-wait", "three")
    assert told.wait() == 0
