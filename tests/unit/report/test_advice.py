"""Every row that waits or failed has a next step."""

from __future__ import annotations

import pytest

from push.gateway import replies
from push.ledger.retries import Retry
from push.report import advice


def row(kind: str, state: str, reason: str | None, conversation: str = "local:ann") -> Retry:
    return Retry(kind, 7, state, 2, 3, None, reason, conversation, 0)


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
        (row("turn", "queued", "os_error_28"), "free some space; it goes on by itself"),
        (row("delivery", "waiting", "offline"), "push chat --user ann"),
        (row("delivery", "waiting", "offline", "telegram:5"), "push retries now d7"),
        (row("delivery", "unknown", "sender_died"), "push retries now d7"),
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
        (row("delivery", "waiting", "offline"), (2, None)),
    ],
)
def test_attempts(given: Retry, attempts: tuple[int, int | None]) -> None:
    assert advice.attempts(given) == attempts
