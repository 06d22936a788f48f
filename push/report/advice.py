"""What to do about a row that waits or failed: the hint of `push retries`, and how often it is tried.

Owns one sentence or command per reason; does not own the reasons (`push.gateway.replies`, `push.errors`,
`push.providers`).
"""

from __future__ import annotations

from push.delivery.sending import MAX_ATTEMPTS
from push.ledger.retries import BEHIND, PAUSED, TWICE, Retry
from push.providers.local import CHANNEL
from push.report import hints
from push.tasks.turns import MAX_DELAYS

_AGAIN = "send the message again"
_SETUP = "push doctor"
_FAILED_TURN = {
    **dict.fromkeys(("not_found", "not_executable", "not_started", "bad_output", "configuration", "no_agent"), _SETUP),
    **dict.fromkeys(("unavailable", "rate_limited", "busy", "session_missing", "empty_reply", "interrupted"), _AGAIN),
    "timed_out": "ask for less at once, or raise run_timeout",
    "output_limit": "ask for less at once",
    "prompt_too_long": "put the text into a file of the assistant's folder, and send its name",
    "not_logged_in": "push doctor --agents",
    "state_corrupt": "push doctor --fix",
}
_POSTPONED_TURN = {
    **dict.fromkeys(("enospc", "edquot", "disk_full"), "push doctor --fix"),
    **dict.fromkeys(("erofs", "eacces", "eperm", "home_not_writable", "ledger_not_writable"), _SETUP),
    "unkillable": "end the processes of its run by hand; it goes on by itself",
}
_MIGRATED = "chat_migrated:"
#: What has to happen before sending again can help; {again} is the command that then does it.
_REFUSED = {
    "bot_blocked": "have the bot unblocked in that chat, then: {again}",
    **dict.fromkeys(("bot_kicked", "bot_not_member"), "take the bot into the group again, then: {again}"),
    **dict.fromkeys(("chat_not_found", "never_written_to"), "have the bot written to from there, then: {again}"),
    **dict.fromkeys(("no_rights", "forbidden"), "let the bot write in that chat, then: {again}"),
    **dict.fromkeys(("topic_closed", "thread_not_found"), "open the topic again, then: {again}"),
    **dict.fromkeys(("chat_deleted", "user_deactivated", "target_is_bot"), "push retries drop {id}"),
    **dict.fromkeys(("unauthorized", "bot_not_found", "certificate_rejected", "proxy_refused"), _SETUP),
    **dict.fromkeys(
        ("text_empty", "text_too_long", "too_large", "entities_refused", "bad_target"), "push retries show {id}"
    ),
    TWICE: "push retries drop {id}",
    BEHIND: "push status",
}


def hint(row: Retry) -> str:
    """The next step for a person: a command, or what to do before it goes on by itself."""
    reason = row.reason or ""
    if row.kind == "rejected":
        return f"push retries show {row.id}"
    if row.kind == "turn":
        if row.state == "failed":
            return _FAILED_TURN.get(reason, f"push turns show {row.number}")
        if reason == PAUSED:
            return hints.resume(row.conversation or "")
        return _POSTPONED_TURN.get(reason, f"push retries now {row.id}")
    return _of_delivery(row, reason)


def _of_delivery(row: Retry, reason: str) -> str:
    if row.state == "waiting" and row.channel == CHANNEL:
        return f"push chat --user {row.target}"
    if reason.startswith(_MIGRATED):  # an answer goes to where its message came from: the old chat is no more
        new = reason.removeprefix(_MIGRATED)
        return f"push allow add {'--chat ' if new.startswith('-') else ''}{new}"
    return _REFUSED.get(reason, "{again}").format(again=f"push retries now {row.id}", id=row.id)


def attempts(row: Retry) -> tuple[int, int | None]:
    """How often it was tried, and how often it is tried at most; None where only time, or a person, ends it."""
    if row.kind == "turn" and row.state == "waiting":
        return row.delays, MAX_DELAYS
    return row.attempt, MAX_ATTEMPTS if row.kind == "delivery" else None
