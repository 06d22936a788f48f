"""Which reply proves what: the difference between once more, never again, and nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from push.model.values import Delivered, NotSent, Refused, SendOutcome, Unknown
from push.providers.telegram.calls import Error, NoAnswer, NoConnection, Ok, Reply
from push.providers.telegram.outcomes import outcome_of, sent
from tests.unit.providers.telegram.scripted import TOKEN


def bad(description: str) -> Error:
    return Error(400, f"Bad Request: {description}")


def test_only_a_message_id_proves_a_send() -> None:
    assert sent(Ok({"message_id": 7, "chat": {"id": 5}}), -5) == Delivered("-5/7")
    results: list[object] = [True, None, [], {}, {"message_id": "7"}, {"message_id": True}]
    for result in results:
        assert sent(Ok(result), -5) == Unknown("no_message_id")
    assert sent(Error(429, "Too Many", 3.0), 5) == NotSent("too_many_requests", 3.0)


def test_what_returns_no_message_is_done_when_it_is_ok() -> None:
    assert outcome_of(Ok(result=True)) == Delivered("")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (NoConnection("connect_timeout"), NotSent("connect_timeout")),
        (NoAnswer("timeout"), Unknown("timeout")),
        (Error(500, "Internal Server Error"), Unknown("http_500")),
        (Error(502, ""), Unknown("http_502")),
        (Error(503, "", 5.0), Unknown("http_503")),
        (Error(302, ""), Unknown("http_302")),
        (Error(400, ""), Unknown("http_400")),
        (Error(403, ""), Unknown("http_403")),
        (Error(401, ""), NotSent("unauthorized")),
        (Error(401, "Unauthorized"), NotSent("unauthorized")),
        (Error(404, "Not Found"), NotSent("bot_not_found")),
        (Error(404, "Not Found: method not found"), Refused("method_not_found")),
        (Error(407, ""), NotSent("proxy_refused")),
        (Error(413, ""), Refused("too_large")),
        (Error(429, ""), NotSent("too_many_requests")),
        (bad("Logged out"), NotSent("logged_out")),
        (bad("chat not found"), Refused("chat_not_found")),
        (bad("PEER_ID_INVALID"), Refused("chat_not_found")),
        (bad("not enough rights to send text messages to the chat"), Refused("no_rights")),
        (bad("group chat was deactivated"), Refused("chat_deleted")),
        (bad("ENTITY_BOUNDS_INVALID"), Refused("entities_refused")),
        (bad("message can't be deleted for everyone"), Refused("message_fixed")),
        (bad("MESSAGE_ID_INVALID"), Refused("message_gone")),
        (bad("BUTTON_DATA_INVALID"), Refused("button_invalid")),
        (Error(403, "Forbidden: the group chat was deleted"), Refused("chat_deleted")),
        (Error(403, "Forbidden: something new"), Refused("forbidden")),
        (Error(400, "anything", None, -1007), Refused("chat_migrated:-1007")),
        (bad("SOMETHING_NEW in 2031"), Refused("SOMETHING_NEW in", final=False)),
        (Error(418, "I'm a teapot"), Refused("I'm a teapot", final=False)),
    ],
)
def test_kinds(reply: Reply, expected: SendOutcome) -> None:
    assert outcome_of(reply) == expected


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ('unsupported start tag "my big secret" at byte offset 77', "unsupported start tag at byte offset"),
        ("button URL 'my big secret' is invalid", "button URL is invalid"),
        ("wrong “my secret words” and «others», don't", "wrong and don't"),
        (f"bad path /bot{TOKEN}/x {TOKEN}", "bad path"),
        ("123 456", "refused"),
        ("word " * 100, ("word " * 16).strip()),
    ],
)
def test_a_reason_quotes_nobody(description: str, reason: str) -> None:
    assert outcome_of(bad(description)) == Refused(reason, final=False)


@given(st.integers(100, 599), st.text(), st.none() | st.floats(0, 1e6), st.none() | st.integers())
def test_a_reason_is_short_and_holds_no_number(
    status: int, description: str, retry_after: float | None, migrate_to: int | None
) -> None:
    outcome = outcome_of(Error(status, description, retry_after, migrate_to))
    assert not isinstance(outcome, Delivered)
    assert 0 < len(outcome.reason) <= 80
    if isinstance(outcome, Refused) and not outcome.final:
        assert outcome.reason.isascii()
        assert not any(character.isdigit() for character in outcome.reason)


#: Beginning of the description in the shared list -> what it means for a send. Each entry needs one.
LISTED: dict[tuple[int, str], SendOutcome] = {
    (401, "Unauthorized"): NotSent("unauthorized"),
    (401, "Unauthorized: invalid token specified"): NotSent("unauthorized"),
    (404, "Not Found"): NotSent("bot_not_found"),
    (404, "Not Found: method not found"): Refused("method_not_found"),
    (400, "Bad Request: chat not found"): Refused("chat_not_found"),
    (400, "Bad Request: message text is empty"): Refused("text_empty"),
    (400, "Bad Request: message is too long"): Refused("text_too_long"),
    (400, "Bad Request: can't parse entities"): Refused("entities_refused"),
    (400, "Bad Request: message thread not found"): Refused("thread_not_found"),
    (400, "Bad Request: TOPIC_CLOSED"): Refused("topic_closed"),
    (400, "Bad Request: message to be replied not found"): Refused("reply_target_gone"),
    (400, "Bad Request: message is not modified"): Refused("not_modified"),
    (400, "Bad Request: query is too old and response timeout expired or query ID is invalid"): Refused(
        "press_expired"
    ),
    (400, "Bad Request: file is too big"): Refused("file_too_big"),
    (400, "Bad Request: wrong file_id or the file is temporarily unavailable"): Refused(
        "wrong file_id or the file is temporarily unavailable", final=False
    ),
    (400, "Bad Request: group chat was upgraded to a supergroup chat"): Refused("chat_migrated:-1001234567890"),
    (400, "Bad Request: VOICE_MESSAGES_FORBIDDEN"): Refused("voice_forbidden"),
    (400, "Bad Request: RICH_MESSAGE_EMAIL_INVALID"): Refused("RICH_MESSAGE_EMAIL_INVALID", final=False),
    (403, "Forbidden: bot was blocked by the user"): Refused("bot_blocked"),
    (403, "Forbidden: user is deactivated"): Refused("user_deactivated"),
    (403, "Forbidden: bot was kicked from the supergroup chat"): Refused("bot_kicked"),
    (403, "Forbidden: bot can't initiate conversation with a user"): Refused("never_written_to"),
    (409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"): NotSent(
        "conflict"
    ),
    (
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    ): NotSent("conflict"),
    (409, "Conflict: terminated by setWebhook request"): NotSent("conflict"),
    (413, "Request Entity Too Large"): Refused("too_large"),
    (421, "Misdirected Request: unallowed token specified"): NotSent("unauthorized"),
    (429, "Too Many Requests: retry after 7"): NotSent("too_many_requests", 7),
    (500, "Internal Server Error"): Unknown("http_500"),
    (502, ""): Unknown("http_502"),
}


@pytest.mark.shared
def test_every_listed_error_has_its_outcome(shared: Path) -> None:
    entries = json.loads((shared / "channels" / "telegram" / "errors.json").read_text())
    met = set()
    for entry in entries:
        body = entry["body"] or {"description": ""}
        parameters = body.get("parameters", {})
        error = Error(
            entry["status"],
            body["description"],
            parameters.get("retry_after"),
            parameters.get("migrate_to_chat_id"),
        )
        full = (error.status, error.description)
        key = full if full in LISTED else (error.status, error.description.rpartition(": ")[0])
        assert outcome_of(error) == LISTED[key], full
        met.add(key)
    assert met == set(LISTED)
