"""`push status`, `retries` and `verify` beside real processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from push.paths import Home
from push.report.proof import prove
from tests.crash.site import SESSION_AGENT, Site, site
from tests.crash.verdict import check


@pytest.fixture
def talkative(home: Path) -> Iterator[Site]:
    """A home whose agent speaks claude's protocol: every first answer saves a session."""
    with site(home, agent=SESSION_AGENT, kind="claude") as made:
        yield made


def told(place: Site, *words: str) -> Any:
    """What a command prints as JSON."""
    process = place.run(*words, "--json")
    assert process.wait() == 0, process.err
    return json.loads(process.out)


def test_a_running_agent_is_shown_with_its_process(gated: Site) -> None:
    gateway = gated.serve()
    gated.commit(("ann", "one"), ("ann", "two"))
    gated.until(gated.entries, "an agent at work")
    status = told(gated, "status")
    roles = {process["role"]: process for process in status["processes"]}
    assert {role: (process["pid"], process["command"]) for role, process in roles.items()} == dict.fromkeys(
        ("poll", "consumer-0"), (gateway.pid, "push run")
    )
    assert {loop["name"] for loop in roles["consumer-0"]["loops"]} >= {"sweep", "turns"}
    [running] = status["running"]
    assert (running["id"], running["conversation"], running["agent"]) == (1, "local:ann", "command")
    os.kill(running["pid"], 0)
    assert running["elapsed"] >= 0
    assert (status["turns"]["running"], status["turns"]["queued"]) == (1, 1)
    assert status["attention"] == []
    gated.gate.touch()
    gated.until_settled(2)
    gateway.stop()
    assert told(gated, "status")["processes"] == []


def test_a_run_that_was_killed_with_its_gateway_has_no_process(gated: Site) -> None:
    gateway = gated.serve()
    gated.commit(("ann", "one"))
    gated.until(gated.entries, "an agent at work")
    gateway.kill()
    for pid in gated.runners().values():
        os.kill(pid, signal.SIGKILL)
    gated.until(lambda: not gated.runners(), "the end of the runner")
    status = told(gated, "status")
    assert status["running"][0]["pid"] is None
    assert [note["hint"] for note in status["attention"]] == ["push run"]
    assert told(gated, "verify")["ok"]
    gated.gate.touch()
    gated.serve()
    gated.until_settled(1)
    check(gated)


def test_the_proof_holds_at_every_moment_of_a_busy_gateway(talkative: Site) -> None:
    """A session is in state.json before its turn's answer is in push.db; and rows come while it is looking."""
    talkative.serve()
    talkative.commit(*((f"user{number % 12}", f"message {number}") for number in range(60)))
    proofs = 0
    while "queued" in talkative.states() or "running" in talkative.states():
        proof = prove(Home.at(talkative.root), lambda what: None)
        assert proof.damages == ()
        assert proof.turns >= 60
        proofs += 1
    assert proofs > 1
    check(talkative)


def test_a_postponed_turn_is_listed_and_tried_at_once_when_a_person_wants(place: Site) -> None:
    place.serve(seams="turn.spooled=raise@1:ENOSPC")
    place.commit(("ann", "one"))
    place.until(lambda: told(place, "retries", "list")["items"], "a postponed turn")
    [item] = told(place, "retries", "list")["items"]
    assert (item["id"], item["state"], item["reason"]) == ("t1", "queued", "enospc")
    assert item["hint"] == "push doctor --fix"
    assert item["next_attempt_at"] is not None
    assert told(place, "retries", "now", "t1") == {
        "version": 1, "kind": "turn", "id": "t1", "heard": True, "paused_until": None,
    }  # fmt: skip
    place.until_states("answered", seconds=10)  # not in the thirty seconds that it was postponed by
    assert told(place, "retries", "list")["items"] == []
    check(place)


def test_an_answer_that_no_terminal_took_is_listed_until_one_does(place: Site) -> None:
    place.serve()
    place.closed_chat("ann", "one").wait()
    [item] = told(place, "retries", "list")["items"]
    assert (item["kind"], item["id"], item["state"], item["hint"]) == (
        "delivery", "d1", "waiting", "push chat --user ann",
    )  # fmt: skip
    assert place.listen("ann").out == "re: one\n"
    assert told(place, "retries", "list")["items"] == []
    check(place)


def test_a_failed_turn_is_listed_until_a_person_has_seen_it(place: Site) -> None:
    place.agent.unlink()
    place.serve()
    assert place.chat("ann", "one").wait() == 1
    [item] = told(place, "retries", "list")["items"]
    assert (item["id"], item["state"], item["reason"], item["hint"]) == ("t1", "failed", "not_found", "push doctor")
    assert told(place, "status")["turns"]["failed"] == 1
    told(place, "retries", "drop", "t1")
    assert told(place, "retries", "list")["items"] == []
    assert told(place, "status")["turns"]["failed"] == 0
    check(place)
