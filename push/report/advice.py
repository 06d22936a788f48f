"""What to do about a row that waits or failed: the hint of `push retries`, and how often it is tried.

Owns one sentence or command per reason; does not own the reasons (`push.gateway.replies`, `push.errors`).
"""

from __future__ import annotations

from push.ledger.retries import Retry
from push.providers.local import CHANNEL
from push.tasks.turns import MAX_DELAYS

_AGAIN = "send the message again"
_SETUP = "push doctor"
_FAILED_TURN = {
    **dict.fromkeys(("not_found", "not_executable", "not_started", "bad_output", "configuration", "no_agent"), _SETUP),
    **dict.fromkeys(("unavailable", "rate_limited", "busy", "session_missing", "empty_reply", "interrupted"), _AGAIN),
    "timed_out": "ask for less at once, or raise run_timeout",
    "output_limit": "ask for less at once",
    "prompt_too_long": "put the text into a file of the assistant's folder, and send its name",
    "not_logged_in": "log in with the agent's own command, then send the message again",
    "state_corrupt": "push doctor --fix",
}
_POSTPONED_TURN = {
    **dict.fromkeys(("os_error_28", "disk_full"), "free some space; it goes on by itself"),
    **dict.fromkeys(("os_error_30", "os_error_13", "home_not_writable", "ledger_not_writable"), _SETUP),
    "unkillable": "end the processes of its run by hand; it goes on by itself",
}


def hint(row: Retry) -> str:
    """The next step for a person: a command, or what to do before it goes on by itself."""
    reason = row.reason or ""
    if row.kind == "turn":
        if row.state == "failed":
            return _FAILED_TURN.get(reason, f"push turns show {row.number}")
        return _POSTPONED_TURN.get(reason, f"push retries now {row.id}")
    if row.state == "waiting" and row.conversation.startswith(f"{CHANNEL}:"):
        return f"push chat --user {row.conversation.partition(':')[2]}"
    return f"push retries now {row.id}"


def attempts(row: Retry) -> tuple[int, int | None]:
    """How often it was tried, and how often it is tried at most; None where only time ends it."""
    if row.kind == "turn" and row.state == "waiting":
        return row.delays, MAX_DELAYS
    return row.attempt, None
