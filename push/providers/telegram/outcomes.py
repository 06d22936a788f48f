"""What became of a send, from what the Bot API replied. Does not own the call, nor what follows from an outcome.

The service has no idempotency key and no history that a bot may read: only a message id proves a send, and only the
service's own "no" proves the opposite. Whatever else came back may have been executed.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from push.model.values import Delivered, NotSent, Refused, SendOutcome, Unknown
from push.providers.telegram.calls import Error, NoAnswer, NoConnection, Ok, Reply

#: A part of the service's description, in lower case -> the code of a refusal that trying again does not change.
_FINAL: Final = (
    ("chat not found", "chat_not_found"),
    ("user not found", "chat_not_found"),
    ("peer_id_invalid", "chat_not_found"),
    ("chat_id is empty", "chat_not_found"),
    ("bot was blocked", "bot_blocked"),
    ("user is deactivated", "user_deactivated"),
    ("was kicked", "bot_kicked"),
    ("is not a member", "bot_not_member"),
    ("can't initiate conversation", "never_written_to"),
    ("can't send messages to bots", "target_is_bot"),
    ("chat was deleted", "chat_deleted"),
    ("chat was deactivated", "chat_deleted"),
    ("rights", "no_rights"),
    ("chat_write_forbidden", "no_rights"),
    ("chat_restricted", "no_rights"),
    ("topic_closed", "topic_closed"),
    ("message thread not found", "thread_not_found"),
    ("topic_deleted", "thread_not_found"),
    ("topic_id_invalid", "thread_not_found"),
    ("text is empty", "text_empty"),
    ("text must be non-empty", "text_empty"),
    ("is too long", "text_too_long"),
    ("message_too_long", "text_too_long"),
    ("entit", "entities_refused"),
    ("message to be replied not found", "reply_target_gone"),
    ("message is not modified", "not_modified"),
    ("message to edit not found", "message_gone"),
    ("message to delete not found", "message_gone"),
    ("message_id_invalid", "message_gone"),
    ("can't be edited", "message_fixed"),
    ("can't be deleted", "message_fixed"),
    ("message_delete_forbidden", "message_fixed"),
    ("button_data_invalid", "button_invalid"),
    ("query is too old", "press_expired"),
    ("query_id_invalid", "press_expired"),
    ("file is too big", "file_too_big"),
    ("voice_messages_forbidden", "voice_forbidden"),
    ("method not found", "method_not_found"),
)

#: Statuses that say of themselves that nothing was executed, whoever on the way answered.
_NOT_EXECUTED: Final = {
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.NOT_FOUND: "bot_not_found",
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: "proxy_refused",
    HTTPStatus.CONFLICT: "conflict",
    HTTPStatus.MISDIRECTED_REQUEST: "unauthorized",
    HTTPStatus.TOO_MANY_REQUESTS: "too_many_requests",
}

_QUOTED = re.compile(r"[\"“«].*?[\"”»]|(?<!\w)['`‘].*?['`’](?!\w)", re.DOTALL)
_WORD = re.compile(r"(?<![^\s(])[A-Za-z_]+(?:['-][A-Za-z]+)?(?=[\s.,:;)]|$)")
_LONGEST_REASON = 80  # characters


def outcome_of(reply: Reply) -> SendOutcome:
    """What a reply means for a call of which nothing but success is expected back. Its receipt is ""."""
    match reply:
        case Ok():
            return Delivered("")
        case NoConnection(reason):
            return NotSent(reason)
        case NoAnswer(reason):
            return Unknown(reason)
        case Error():
            return _of_error(reply)


def sent(reply: Reply, chat: int) -> SendOutcome:
    """What a reply means for a message to `chat`: delivered only with its id, which with the chat is the receipt."""
    if not isinstance(reply, Ok):
        return outcome_of(reply)
    number = reply.result.get("message_id") if isinstance(reply.result, dict) else None
    if isinstance(number, int) and not isinstance(number, bool):
        return Delivered(f"{chat}/{number}")
    return Unknown("no_message_id")


def _of_error(error: Error) -> SendOutcome:
    refusal = _refusal(error)
    if refusal == "method_not_found":  # a server too old; of a bot that is not found the status is the same
        return Refused(refusal)
    if reason := _NOT_EXECUTED.get(error.status):  # type: ignore[call-overload]  # a status is an int
        return NotSent(reason, error.retry_after)
    if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return Refused("too_large")
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or not error.description:
        return Unknown(f"http_{error.status}")
    if "logged out" in error.description.lower():  # this server lets the bot in again later
        return NotSent("logged_out", error.retry_after)
    return Refused(refusal) if refusal else Refused(_sanitised(error.description), final=False)


def _refusal(error: Error) -> str:
    """The stable code of a refusal that is for good; "" for one that is not known."""
    if error.migrate_to is not None:
        return f"chat_migrated:{error.migrate_to}"
    description = error.description.lower()
    known = next((code for fragment, code in _FINAL if fragment in description), "")
    return known or ("forbidden" if error.status == HTTPStatus.FORBIDDEN else "")


def _sanitised(description: str) -> str:
    """The words of a description; what it quotes (a person's text), numbers and whatever else is no word stay out."""
    words = _WORD.findall(_QUOTED.sub(" ", description.removeprefix("Bad Request:")))
    return " ".join(words)[:_LONGEST_REASON].strip() or "refused"
