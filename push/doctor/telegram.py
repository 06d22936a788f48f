"""The checks of the Telegram channel: the token, the service, a webhook, another poller, who may write.

Owns what a person is told about them; does not own the calls (`push.providers.telegram`). Asks the service twice, for
a few seconds at most, changes nothing there, and prints no token.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from push import clock
from push.config.settings import Settings, Telegram
from push.doctor.findings import Finding, Status
from push.errors import ConfigError, PushError
from push.ledger import allowlist
from push.ledger.database import Database
from push.providers.telegram.calls import BotApi, Error, NoAnswer, NoConnection, Ok
from push.report import channels
from push.tasks import roles

_SECONDS = 5.0
_CHECK = "telegram"


def examine(settings: Settings) -> Iterator[Finding]:
    """What a person should know before the bot is read and answers."""
    try:
        api = BotApi.of(settings.telegram, connections=1)
    except ConfigError as exc:
        yield _failed(f"{exc.message}; {exc.why}", exc.hint)
    else:
        try:
            yield from _service(settings.telegram, api)
        finally:
            api.close()
    yield from _poller(settings)
    yield from _allowlist(settings)


def _failed(message: str, hint: str) -> Finding:
    return Finding(_CHECK, Status.FAILED, message, hint)


def _service(telegram: Telegram, api: BotApi) -> Iterator[Finding]:
    """Who the bot is; then, whether something else takes its messages."""
    reply = api.call("getMe", {}, timeout_seconds=_SECONDS)
    if not isinstance(reply, Ok):
        yield _refusal(telegram, reply)
        return
    me = _table(reply.result)
    yield Finding(_CHECK, Status.OK, f"{telegram.base_url} knows the bot as @{me.get('username')} ({me.get('id')})")
    reply = api.call("getWebhookInfo", {}, timeout_seconds=_SECONDS)
    url = _table(reply.result).get("url") if isinstance(reply, Ok) else None
    if isinstance(url, str) and url:  # its path may be a secret of the other program's
        message = f"a webhook at {urlsplit(url).hostname} takes the bot's messages, so that it cannot be read"
        name = telegram.bot_token_env
        remove = f"curl {telegram.base_url}/bot${name}/deleteWebhook"
        yield _failed(message, f"switch the program there off, then, with the token in the variable {name}: {remove}")


def _refusal(telegram: Telegram, reply: Error | NoConnection | NoAnswer) -> Finding:
    match reply:
        case Error(401 | 404):
            hint = "ask @BotFather in Telegram for the bot's token, and check telegram.base_url"
            return _failed(f"{telegram.base_url} does not know the bot of this token", hint)
        case Error(status):
            return _failed(f"{telegram.base_url} answers with the error {status}", "try again later: push doctor")
        case NoConnection(reason) | NoAnswer(reason):
            hint = "check the network and telegram.base_url, then: push doctor"
            return _failed(f"{telegram.base_url} cannot be reached ({reason})", hint)


def _poller(settings: Settings) -> Iterator[Finding]:
    """What the loop that reads the bot says, where one lives."""
    at = clock.now_ms()
    for channel in channels.of(roles.living(settings.home.run), at):
        if channel.name != _CHECK:
            continue
        if "another_poller" in channel.note:
            hint = "stop the other one, or give it a bot of its own; the token may also be known to somebody else"
            yield _failed("another program reads this bot's messages", hint)
        elif channel.deaf_since is not None:
            minutes = (at - channel.deaf_since) // 60_000
            yield _failed(f"the gateway has not been able to read it for {minutes} min: {channel.note}", "push status")


def _allowlist(settings: Settings) -> Iterator[Finding]:
    people = len(settings.telegram.allow_user_ids | settings.telegram.allow_chat_ids)
    try:
        db = Database.open_existing(settings.home.push_db)
        if db is not None:
            people += len(allowlist.entries(db, _CHECK))
            db.close()
    except PushError:
        return  # the check of the ledger tells it
    if not people:
        hint = "let the person write to the bot while it runs, then: push allow list"
        yield Finding(_CHECK, Status.WARNING, "nobody is allowed to write to the bot", hint)


def _table(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {}
