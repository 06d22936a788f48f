"""Which parameters each method of the fake knows, and how a request's body becomes them.

Owns the table, JSON, form and multipart; does not own what a method does. An unknown or missing parameter is refused,
which Telegram itself does only for some: a typing error must not pass unseen.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from tests.telegram.records import bad
from tests.telegram.texts import check_encoding

# i integer, s string, b boolean, o object, a array, c chat id, f file; ! marks what must be there.
_COMMON = (
    "message_thread_id:i business_connection_id:s disable_notification:b protect_content:b allow_paid_broadcast:b "
    "message_effect_id:s reply_parameters:o reply_markup:o"
)
_CAPTION = f"chat_id:c! caption:s parse_mode:s caption_entities:a {_COMMON}"
_TABLE = {
    "getUpdates": "offset:i limit:i timeout:i allowed_updates:a",
    "getMe": "",
    "getWebhookInfo": "",
    "setWebhook": "url:s! certificate:f ip_address:s max_connections:i allowed_updates:a drop_pending_updates:b "
    "secret_token:s",
    "deleteWebhook": "drop_pending_updates:b",
    "sendMessage": f"chat_id:c! text:s! parse_mode:s entities:a link_preview_options:o {_COMMON}",
    "sendRichMessage": f"chat_id:c! rich_message:o! {_COMMON}",
    "sendMessageDraft": "chat_id:i! message_thread_id:i draft_id:i! text:s parse_mode:s entities:a can_stop:b "
    "keep_on_stop:b",
    "sendChatAction": "chat_id:c! message_thread_id:i business_connection_id:s action:s!",
    "sendVoice": f"voice:f! duration:i {_CAPTION}",
    "sendAudio": f"audio:f! duration:i performer:s title:s thumbnail:f {_CAPTION}",
    "sendPhoto": f"photo:f! show_caption_above_media:b has_spoiler:b {_CAPTION}",
    "sendDocument": f"document:f! thumbnail:f disable_content_type_detection:b {_CAPTION}",
    "getFile": "file_id:s!",
    "editMessageText": "chat_id:c! message_id:i! text:s! business_connection_id:s parse_mode:s entities:a "
    "link_preview_options:o reply_markup:o",
    "editMessageReplyMarkup": "chat_id:c! message_id:i! business_connection_id:s reply_markup:o",
    "deleteMessage": "chat_id:c! message_id:i!",
    "answerCallbackQuery": "callback_query_id:s! text:s show_alert:b url:s cache_time:i",
    "setMyCommands": "commands:a! scope:o language_code:s",
    "getMyCommands": "scope:o language_code:s",
    "deleteMyCommands": "scope:o language_code:s",
    "setMessageReaction": "chat_id:c! message_id:i! reaction:a is_big:b",
    "createForumTopic": "chat_id:c! name:s! icon_color:i icon_custom_emoji_id:s",
    "getChat": "chat_id:c!",
}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a multipart body."""

    name: str
    content: bytes


def _read(row: str) -> dict[str, tuple[str, bool]]:
    fields = (entry.split(":") for entry in row.split())
    return {name: (kind[0], kind.endswith("!")) for name, kind in fields}


KNOWN = {method: _read(row) for method, row in _TABLE.items()}
_SPELLED = {method.lower(): method for method in KNOWN}


def spelled(method: str) -> str | None:
    """The method's right spelling (Telegram ignores case), or None where the fake has no such method."""
    return _SPELLED.get(method.lower())


def decoded(method: str, query: str, content_type: str, body: bytes) -> dict[str, Any]:
    """A request's parameters as sent; what a form carries as text gets its type from the table. Raises Refused."""
    kind = content_type.partition(";")[0].strip().lower()
    found: dict[str, Any] = _typed(method, _form(query.encode()))
    if not body:
        pass
    elif kind == "application/json":
        found |= _json_body(body)
    elif kind == "multipart/form-data":
        found |= _typed(method, _multipart(content_type, body))
    else:
        found |= _typed(method, _form(body))
    check_encoding({name: value for name, value in found.items() if not isinstance(value, Upload)})
    return found


def checked(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The same with the types that the method works with; raises Refused."""
    known = KNOWN[method]
    for name in parameters:
        if name not in known:
            raise bad(f"the fake's {method} knows no parameter {name}")
    result = {}
    for name, (kind, needed) in known.items():
        value = parameters.get(name)
        if value is None:
            if needed:
                raise bad(f"parameter {name} is required")
        else:
            result[name] = _converted(name, kind, value)
    return result


def _converted(name: str, kind: str, value: Any) -> Any:
    if kind in "ic" and isinstance(value, str) and value.removeprefix("-").isdecimal():
        value = int(value)
    if kind in "oa" and isinstance(value, str):
        value = _json(value, name)
    fits = {
        "i": isinstance(value, int) and not isinstance(value, bool),
        "c": isinstance(value, int | str) and not isinstance(value, bool),
        "s": isinstance(value, str),
        "b": isinstance(value, bool),
        "o": isinstance(value, dict),
        "a": isinstance(value, list),
        "f": isinstance(value, str | Upload),
    }[kind]
    if not fits:
        raise bad(f"parameter {name} of the type {type(value).__name__} has a wrong type")
    return value


def _typed(method: str, form: dict[str, Any]) -> dict[str, Any]:
    """Give the strings of a form the types of the table, where they read as such."""
    known = KNOWN.get(method, {})
    result = {}
    for name, value in form.items():
        kind = known.get(name, ("s", False))[0]
        if kind == "b" and isinstance(value, str) and value.lower() in {"true", "1", "false", "0"}:
            result[name] = value.lower() in {"true", "1"}
        elif isinstance(value, Upload) or kind in "sfb":
            result[name] = value
        else:
            result[name] = _converted(name, kind, value)
    return result


def _json_body(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise bad("strings must be encoded in UTF-8") from None
    found = _json(text, "body")
    if not isinstance(found, dict):
        raise bad("expected an object as JSON content")
    return found


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise bad(f"can't parse {name} as JSON") from None


def _form(body: bytes) -> dict[str, Any]:
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise bad("strings must be encoded in UTF-8") from None


def _multipart(content_type: str, body: bytes) -> dict[str, Any]:
    boundary = re.search(r'boundary="?([^";]+)', content_type)
    if boundary is None:
        raise bad("the multipart body has no boundary")
    parts: dict[str, Any] = {}
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary[1].encode())[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        try:
            name = re.search(r'[ ;]name="?([^";\r]+)', head.decode())
            file_name = re.search(r'filename="?([^";\r]+)', head.decode())
            if name is None:
                raise bad("a part of the multipart body has no name")
            parts[name[1]] = Upload(file_name[1], content) if file_name else content.decode()
        except UnicodeDecodeError:
            raise bad("strings must be encoded in UTF-8") from None
    # attach://NAME stands for the file in the part NAME.
    attached = {
        name: value.removeprefix("attach://")
        for name, value in parts.items()
        if isinstance(value, str) and value.startswith("attach://")
    }
    resolved = {name: parts.get(attached.get(name, name), value) for name, value in parts.items()}
    return {name: value for name, value in resolved.items() if name not in attached.values() or name in attached}
