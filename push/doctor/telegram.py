"""The checks of the Telegram channel: the token, the service, a webhook, another poller, who may write.

Owns what a person is told about them; does not own the calls (`push.providers.telegram`). Asks the service twice, for
a few seconds at most, prints no token, and changes something there only where a person asks for exactly that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from push import clock
from push.config.settings import Settings
from push.doctor.findings import Finding, Status, failed, fine, warning
from push.errors import ConfigError, PushError
from push.ledger import allowlist
from push.ledger.database import Database
from push.providers.telegram.calls import BotApi, Error, NoAnswer, NoConnection, Ok
from push.report import channels
from push.state import StateFile
from push.tasks import roles

_SECONDS = 5.0
_SKEW_SECONDS = 60.0
_CHECK = "telegram"
_SET_UP = "push init"


def look(settings: Settings) -> Iterator[Finding]:
    """What a person should know before the bot is read and answers."""
    try:
        api = BotApi.of(settings.telegram, connections=1)
    except ConfigError as exc:
        yield failed(_CHECK, "token_missing", f"{exc.message}; {exc.why}", _SET_UP)
    else:
        with closing(api):
            yield from _service(settings, api)
    yield from _poller(settings)
    yield from _allowlist(settings)


def _service(settings: Settings, api: BotApi) -> Iterator[Finding]:
    """Who the bot is; then, whether something else takes its messages, and whether the clocks agree."""
    url = settings.telegram.base_url
    reply = api.call("getMe", {}, timeout_seconds=_SECONDS)
    if not isinstance(reply, Ok):
        yield _refusal(url, reply)
        return
    me = _table(reply.result)
    yield fine(_CHECK, f"{url} knows the bot as @{me.get('username')} ({me.get('id')}){_cursor(settings, me)}")
    yield from _clock(api)
    reply = api.call("getWebhookInfo", {}, timeout_seconds=_SECONDS)
    hook = _table(reply.result).get("url") if isinstance(reply, Ok) else None
    if isinstance(hook, str) and hook:  # its path may be a secret of the other program's
        message = (
            f"a webhook at {urlsplit(hook).hostname} takes the bot's messages, so that it cannot be read; "
            "without the webhook, that program gets none"
        )
        yield failed(_CHECK, "webhook", message, "push doctor --delete-webhook")


def _cursor(settings: Settings, me: dict[str, Any]) -> str:
    """A cursor of another bot counts for nothing: what is said where one stands in state.json."""
    try:
        known = StateFile(settings.home.state).read()
    except PushError:
        return ""  # the check of state.json tells it
    owner = known.cursor_owner.get(_CHECK, "")
    if _CHECK not in known.cursors or owner == str(me.get("id")):
        return ""
    whose = f"belongs to the bot {owner}" if owner else "belongs to nobody known"
    return f"; the cursor in state.json {whose} and is not used for this one, which is read from its own beginning"


def _clock(api: BotApi) -> Iterator[Finding]:
    skew = api.skew_seconds
    if skew is not None and abs(skew) > _SKEW_SECONDS:
        word = "ahead of" if skew > 0 else "behind"
        message = f"this machine's clock is {abs(skew):.0f} s {word} the service's"
        yield warning("clock", "clock_wrong", message, "timedatectl set-ntp true")


def delete_webhook(settings: Settings) -> Finding:
    """Take the bot's messages back from whatever program its webhook belongs to. Raises ConfigError without a token."""
    with closing(BotApi.of(settings.telegram, connections=1)) as api:
        reply = api.call("deleteWebhook", {"drop_pending_updates": False}, timeout_seconds=_SECONDS)
    if isinstance(reply, Ok):
        return Finding(_CHECK, Status.FIXED, "the bot has no webhook any more; what waited for it is kept")
    return _refusal(settings.telegram.base_url, reply)


def _refusal(url: str, reply: Error | NoConnection | NoAnswer) -> Finding:
    match reply:
        case Error(401 | 404 | 421):
            return failed(_CHECK, "token_refused", f"{url} does not know the bot of this token", _SET_UP)
        case Error(status):
            return failed(_CHECK, "service_error", f"{url} answers with the error {status}; try again", "push doctor")
        case NoConnection(reason) | NoAnswer(reason):
            message = f"{url} cannot be reached ({reason.replace('_', ' ')}): the network, or telegram.base_url"
            return failed(_CHECK, "unreachable", message, "push doctor")


def _poller(settings: Settings) -> Iterator[Finding]:
    """What the loop that reads the bot says, where one lives."""
    at = clock.now_ms()
    for channel in channels.of(roles.living(settings.home.run), at):
        if channel.name != _CHECK:
            continue
        if "another_poller" in channel.note:
            message = (
                "another program reads this bot's messages: stop it, or have @BotFather revoke the token (/revoke), "
                "and give Push the new one"
            )
            yield failed(_CHECK, "another_poller", message, "push init --bot-token-file -")
        elif channel.deaf_since is not None:
            minutes = (at - channel.deaf_since) // 60_000
            message = f"the gateway has not been able to read it for {minutes} min: {channel.note}"
            yield failed(_CHECK, "deaf", message, "push status")


def _allowlist(settings: Settings) -> Iterator[Finding]:
    people = len(settings.telegram.allow_user_ids | settings.telegram.allow_chat_ids)
    try:
        db = Database.open_existing(settings.home.push_db)
        if db is not None:
            with closing(db):
                people += len(allowlist.entries(db, _CHECK))
    except PushError:
        return  # the check of the ledger tells it
    if not people:
        yield warning(_CHECK, "nobody_allowed", "nobody is allowed to write to the bot", _SET_UP)


def _table(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {}
