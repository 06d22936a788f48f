"""`Settings` out of a checked file, its resolved paths, and the secrets of the environment.

Owns which source of a secret wins; does not check anything.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from push import environ
from push.config import settings as values
from push.config.kinds import is_dsn, tokens_in
from push.config.places import Places, resolved_or_same
from push.config.rules import enabled_channels
from push.config.schema import FileTable

_SHORTEST_SECRET = 8  # what is shorter is no secret of these services, and scrubbing it would garble every line


def build(path: Path | None, table: FileTable, places: Places, written: frozenset[str]) -> values.Settings:
    """The settings. Every key and every rule has been checked."""
    primary = table.primary_delivery
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
        telegram=_telegram(table),
        imessage=_imessage(table),
        voice=_voice(table),
        sentry=_sentry(table),
        retention=values.Retention(**dict(table.retention)),
        primary_delivery=values.PrimaryDelivery(primary.channel, primary.target) if primary else None,
        routes=tuple(values.Route(route.thread, route.channel, route.agent) for route in table.routes),
        secrets=_secrets(table),
        written=written,
    )


def _program(name: str) -> str:
    """A program's name; one that begins with `~` is a path."""
    return str(Path(name).expanduser()) if name.startswith("~") else name


def _from_environment(name: str) -> SecretStr | None:
    value = (environ.get(name) or "").strip()
    return SecretStr(value) if value else None


def _telegram(table: FileTable) -> values.Telegram:
    telegram = table.telegram
    return values.Telegram(
        bot_token=telegram.bot_token or _from_environment(telegram.bot_token_env),
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


def _voice(table: FileTable) -> values.Voice:
    voice = table.voice
    return values.Voice(
        openai_api_key=_from_environment(values.OPENAI_KEY_ENV) or voice.openai_api_key,
        service=voice.service,
        base_url=voice.base_url,
        transcribe_model=voice.transcribe_model,
        speech_model=voice.speech_model,
        name=voice.name,
    )


def _sentry(table: FileTable) -> values.Sentry:
    dsn = table.sentry.dsn
    environment = _from_environment(values.SENTRY_DSN_ENV)
    if dsn is None and environment is not None and is_dsn(environment.get_secret_value()):
        dsn = environment
    return values.Sentry(dsn, table.sentry.environment, table.sentry.traces_sample_rate)


def _secrets(table: FileTable) -> tuple[SecretStr, ...]:
    """Every secret in the file and in the environment, also those of channels that are off.

    A variable may hold more than the secret (a whole message of BotFather): then the token in it counts too.
    """
    names = (values.TELEGRAM_TOKEN_ENV, table.telegram.bot_token_env, values.OPENAI_KEY_ENV, values.SENTRY_DSN_ENV)
    found = [table.telegram.bot_token, table.voice.openai_api_key, table.sentry.dsn]
    texts = [secret.get_secret_value() for secret in found if secret]
    for name in names:
        value = (environ.get(name) or "").strip()
        texts += [value, *tokens_in(value)]
    return tuple(SecretStr(text) for text in dict.fromkeys(texts) if len(text) >= _SHORTEST_SECRET)
