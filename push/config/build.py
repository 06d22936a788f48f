"""`Settings` out of a checked file, its resolved paths, and the secrets from outside.

Owns when a secret of the file wins; does not check anything, nor know where the outside is (`push.config.credentials`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from push.config import settings as values
from push.config.credentials import Credential, Credentials
from push.config.kinds import is_dsn, tokens_in
from push.config.places import Places, resolved_or_same
from push.config.rules import enabled_channels
from push.config.schema import FileTable

_SHORTEST_SECRET = 8  # what is shorter is no secret of these services, and scrubbing it would garble every line


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The secrets in effect; of each its source, and the place of the bot's token in words."""

    bot_token: SecretStr | None
    openai_api_key: SecretStr | None
    dsn: SecretStr | None
    sources: dict[str, str]
    token_place: str


def build(
    path: Path | None, table: FileTable, found: tuple[Places, frozenset[str]], outside: Credentials
) -> values.Settings:
    """The settings. Every key and every rule has been checked. `found` are the places and the keys that are written."""
    primary = table.primary_delivery
    places, written = found
    chosen = _chosen(path, table, outside)
    return values.Settings(
        path=path,
        home=places.home,
        channels=enabled_channels(table),
        agent=table.agent,
        assistant_root=places.assistant_root,
        poll_interval=table.poll_interval,
        run_timeout=table.run_timeout,
        turns_workers=table.turns_workers,
        agent_env=tuple(table.agent_env),
        claude_bin=_program(table.claude_bin),
        codex_bin=_program(table.codex_bin),
        pi_bin=_program(table.pi_bin),
        codex_model=table.codex_model,
        command=(_program(table.command[0]), *table.command[1:]) if table.command else None,
        command_history=table.command_history,
        progress=table.progress,
        shutdown=table.shutdown,
        reply_marker=table.reply_marker,
        audit_log_content=table.audit_log_content,
        jobs_agent=table.jobs_agent or table.agent,
        jobs_max_timeout=table.jobs_max_timeout,
        jobs_max_workers=table.jobs_max_workers,
        delivery=values.Delivery(table.delivery.expire_after, table.delivery.on_unknown),
        telegram=_telegram(table, chosen),
        imessage=_imessage(table),
        voice=_voice(table, chosen),
        sentry=values.Sentry(chosen.dsn, table.sentry.environment, table.sentry.traces_sample_rate),
        retention=values.Retention(**dict(table.retention)),
        primary_delivery=values.PrimaryDelivery(primary.channel, primary.target) if primary else None,
        routes=tuple(values.Route(route.thread, route.channel, route.agent) for route in table.routes),
        secrets=_secrets(table, outside),
        sources=chosen.sources,
        written=written,
    )


def _program(name: str) -> str:
    """A program's name; one that begins with `~` is a path."""
    return str(Path(name).expanduser()) if name.startswith("~") else name


def _chosen(path: Path | None, table: FileTable, outside: Credentials) -> _Chosen:
    """The file wins, but for the voice's key."""
    found = {
        "telegram.bot_token": outside.find(table.telegram.bot_token_env),
        "voice.openai_api_key": outside.find(values.OPENAI_KEY_ENV),
        "sentry.dsn": outside.find(values.SENTRY_DSN_ENV),
    }
    if (dsn := found["sentry.dsn"]) and not is_dsn(dsn.value.get_secret_value()):
        found["sentry.dsn"] = None
    written = {
        "telegram.bot_token": table.telegram.bot_token,
        "voice.openai_api_key": None if found["voice.openai_api_key"] else table.voice.openai_api_key,
        "sentry.dsn": table.sentry.dsn,
    }
    winners = {
        key: Credential(secret, "file", f"{key} of {path}") if secret else found[key] for key, secret in written.items()
    }
    token, key, dsn = winners.values()
    return _Chosen(
        bot_token=token.value if token else None,
        openai_api_key=key.value if key else None,
        dsn=dsn.value if dsn else None,
        sources={name: winner.source for name, winner in winners.items() if winner},
        token_place=token.place if token else "",
    )


def _telegram(table: FileTable, chosen: _Chosen) -> values.Telegram:
    telegram = table.telegram
    return values.Telegram(
        bot_token=chosen.bot_token,
        place=chosen.token_place,
        bot_token_env=telegram.bot_token_env,
        allow_user_ids=frozenset(telegram.allow_user_ids),
        allow_chat_ids=frozenset(telegram.allow_chat_ids),
        base_url=telegram.base_url,
        base_file_url=telegram.base_file_url or f"{telegram.base_url}/file",
    )


def _imessage(table: FileTable) -> values.IMessage:
    imessage = table.imessage
    return values.IMessage(
        db_path=resolved_or_same(imessage.db_path),
        self_handles=tuple(imessage.self_handles),
        allow_from=tuple(imessage.allow_from),
        osascript_bin=_program(imessage.osascript_bin),
    )


def _voice(table: FileTable, chosen: _Chosen) -> values.Voice:
    voice = table.voice
    return values.Voice(
        openai_api_key=chosen.openai_api_key,
        service=voice.service,
        base_url=voice.base_url,
        transcribe_model=voice.transcribe_model,
        speech_model=voice.speech_model,
        name=voice.name,
    )


def _secrets(table: FileTable, outside: Credentials) -> tuple[SecretStr, ...]:
    """Every secret in the file and outside, also those of channels that are off.

    A variable may hold more than the secret (a whole message of BotFather): then the token in it counts too.
    """
    names = (values.TELEGRAM_TOKEN_ENV, table.telegram.bot_token_env, values.OPENAI_KEY_ENV, values.SENTRY_DSN_ENV)
    found = [table.telegram.bot_token, table.voice.openai_api_key, table.sentry.dsn]
    texts = [secret.get_secret_value() for secret in found if secret]
    for value in outside.values(names):
        texts += [value, *tokens_in(value)]
    return tuple(SecretStr(text) for text in dict.fromkeys(texts) if len(text) >= _SHORTEST_SECRET)
