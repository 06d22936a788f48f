"""Every row that waits or failed has a next step."""

from __future__ import annotations

import pytest

from push.gateway import replies
from push.ledger.retries import BEHIND, TWICE, Retry
from push.providers.telegram import outcomes
from push.report import advice


def row(kind: str, state: str, reason: str | None, place: tuple[str, str] = ("local", "ann")) -> Retry:
    return Retry(kind, 7, state, 2, 3, None, reason, ":".join(place), *place, 0)


def sent(state: str, reason: str) -> Retry:
    return row("delivery", state, reason, ("telegram", "5"))


@pytest.mark.parametrize("code", sorted(replies.CODES | {"agent_error"}))
def test_every_failure_has_a_next_step(code: str) -> None:
    assert advice.hint(row("turn", "failed", code))


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (row("turn", "failed", "refused"), "push turns show 7"),
        (row("turn", "failed", "no_agent"), "push doctor"),
        (row("turn", "failed", "state_corrupt"), "push doctor --fix"),
        (row("turn", "waiting", "in_use"), "push retries now t7"),
        (row("turn", "queued", "enospc"), "push doctor --fix"),
        (row("delivery", "waiting", "offline"), "push chat --user ann"),
        (sent("waiting", "connection_refused"), "push retries now d7"),
        (row("delivery", "unknown", "sender_died"), "push retries now d7"),
        (sent("failed", "expired"), "push retries now d7"),
        (sent("failed", "bot_blocked"), "have the bot unblocked in that chat, then: push retries now d7"),
        (sent("failed", "chat_not_found"), "have the bot written to from there, then: push retries now d7"),
        (sent("failed", "chat_migrated:-1001234"), "push allow add --chat -1001234"),
        (sent("failed", "text_too_long"), "push retries show d7"),
        (sent("waiting", "unauthorized"), "push doctor"),
        (sent("delivered", "possibly_twice"), "push retries drop d7"),
        (row("rejected", "rejected", "malformed", ("telegram", "")), "push retries show x7"),
    ],
)
def test_the_next_step(given: Retry, hint: str) -> None:
    assert advice.hint(given) == hint


def test_every_reason_that_it_knows_exists() -> None:
    assert advice._FAILED_TURN.keys() <= replies.CODES


@pytest.mark.parametrize(
    ("given", "attempts"),
    [
        (row("turn", "waiting", "in_use"), (3, 10)),  # each is a question to the agent, which ran nothing
        (row("turn", "failed", "agent_error"), (2, None)),
        (row("delivery", "waiting", "offline"), (2, 3)),
        (row("rejected", "rejected", "malformed"), (2, None)),
    ],
)
def test_attempts(given: Retry, attempts: tuple[int, int | None]) -> None:
    assert advice.attempts(given) == attempts


def test_every_refusal_that_it_knows_exists() -> None:
    """A reason that its channel renamed would silently lose its hint."""
    known = {code for _, code in outcomes._FINAL} | set(outcomes._NOT_EXECUTED.values())
    known |= {"forbidden", "too_large", "bad_target", "certificate_rejected", "proxy_refused", TWICE, BEHIND}
    assert advice._REFUSED.keys() <= known
