"""The shape of config.toml: every table and key with its kind, default and meaning.

Owns what the file may hold; does not own what follows from it (`push.config.settings`) or rules between keys
(`push.config.rules`). The reference page and the JSON schema are generated from here.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from push.config.kinds import (
    Age,
    Agent,
    ApiKey,
    Channel,
    Dsn,
    EnvName,
    Keep,
    Pause,
    TelegramId,
    Text,
    Timeout,
    Token,
    Url,
)

# pydantic looks for plugins in every installed distribution, which costs each command 30 ms, and would hand them every
# value of the file, secrets too. An empty loader in the place of its own; the real one stays where it came first.
_NO_PLUGINS = ModuleType("pydantic.plugin._loader")
vars(_NO_PLUGINS)["get_plugins"] = tuple
sys.modules.setdefault(_NO_PLUGINS.__name__, _NO_PLUGINS)


def _key(default: Any, meaning: str, *, shown: str | None = None) -> Any:
    """A key that may be left out. `shown` is the default as the reference prints it, where it is worked out later."""
    extra: dict[str, Any] | None = {"x-default": shown} if shown else None
    return Field(default, description=meaning, validate_default=isinstance(default, str), json_schema_extra=extra)


class _Table(BaseModel):
    """Unknown keys are errors, values are not converted, and no error repr shows a value."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class IMessageTable(_Table):
    """The iMessage channel (macOS)."""

    db_path: Text = _key("~/Library/Messages/chat.db", "The Messages database.")
    self_handles: list[Text] = _key([], "Your own addresses: the chat with yourself is a conversation.")
    allow_from: list[Text] = _key([], "Addresses of others whose messages are accepted.")
    osascript_bin: Text = _key("osascript", "The program that sends through Messages.")


class TelegramTable(_Table):
    """The Telegram channel."""

    bot_token: Token | None = _key(None, "The bot's token, alone. It wins over the variable of `bot_token_env`.")
    bot_token_env: EnvName = _key("TELEGRAM_BOT_TOKEN", "The environment variable that holds the token.")
    allow_user_ids: list[TelegramId] = _key([], "Numeric ids of the users whose private messages are accepted.")
    allow_chat_ids: list[TelegramId] = _key(
        [], "Numeric ids of chats in which everybody may write: groups, where the bot is addressed, and private chats."
    )
    base_url: Url = _key("https://api.telegram.org", "The Bot API server.")
    base_file_url: Url | None = _key(None, "The server's address for downloads.", shown="`base_url` + `/file`")


class VoiceTable(_Table):
    """Voice messages: transcribed on the way in, answered as audio after the text."""

    openai_api_key: ApiKey | None = _key(None, "The key. The variable `OPENAI_API_KEY` wins over it.")
    service: Literal["openai"] = _key("openai", "The service.")
    base_url: Url = _key("https://api.openai.com/v1", "The service's address.")
    transcribe_model: Text = _key("gpt-4o-transcribe", "The model that writes down what was said.")
    speech_model: Text = _key("gpt-4o-mini-tts", "The model that speaks.")
    name: Text = _key("cedar", "The voice. With OpenAI's own address it must be one that OpenAI offers.")


class DeliveryTable(_Table):
    """Replies on their way out."""

    expire_after: Age = _key("24h", "How long a reply that cannot be sent is tried.")
    on_unknown: Literal["once", "hold"] = _key(
        "once", "After a send whose outcome cannot be known: `once` sends it again, marked; `hold` waits for you."
    )


class PrimaryDeliveryTable(_Table):
    """Where results of scheduled jobs go."""

    channel: Channel = Field(description="The channel.")
    target: Text = Field(description="The chat: on Telegram `chat` or `chat:topic`, on iMessage an address.")


class RouteTable(_Table):
    """A conversation or a channel with an agent of its own. The most exact rule wins, then the first in the file."""

    thread: Text | None = _key(None, "The conversation, as in `telegram:dm:123456789` or `local:ann`.")
    channel: Channel | None = _key(None, "The channel. With `thread`, both must match.")
    agent: Agent = Field(description="The agent.")


class SentryTable(_Table):
    """Error reports, off without a DSN. They hold no message text and no secret."""

    dsn: Dsn | None = _key(None, "Where reports go. It wins over the variable `SENTRY_DSN`.")
    environment: Text = _key("production", "The environment's name in reports.")
    traces_sample_rate: Annotated[float, Field(ge=0.0, le=1.0)] = _key(0.0, "The share of work that is traced.")


class RetentionTable(_Table):
    """How long what is over is kept. A message's id is kept for ever, so that it is never answered again."""

    history: Keep = _key("forever", "Texts of messages and answers, and what is listed as rejected.")
    audit: Keep = _key("90d", "Records of the audit log.")
    logs: Keep = _key("30d", "Logs.")
    spool: Keep = _key("7d", "What runs left behind that nobody needs any more.")


class ReservedTable(_Table):
    """Reserved: it holds no key in this version."""


class FileTable(_Table):
    """The settings of one gateway."""

    channel: Channel = _key("imessage", "The one channel, where `channels` is empty. The terminal is always there.")
    channels: list[Channel] = _key([], "The channels, when there are several.")
    agent: Agent = _key("claude", "Who answers: claude, codex, pi, or a program of your own (`command`).")
    assistant_root: Text | None = _key(
        None,
        "The assistant's folder (SOUL.md, context/, jobs/), relative to this file. Needed but for the terminal alone.",
        shown="`$PUSH_HOME/assistant` with the terminal alone",
    )
    poll_interval: Pause = _key("3s", "The pause between two looks at a channel.")
    run_timeout: Timeout = _key("10m", "How long an agent may work on one message.")
    turns_workers: Annotated[int, Field(ge=1, le=256)] = _key(32, "How many conversations are worked on at a time.")
    agent_env: list[EnvName] = _key([], "Variables with secrets of Push that are passed to agents all the same.")
    claude_bin: Text = _key("claude", "The program of the agent `claude`.")
    codex_bin: Text = _key("codex", "The program of the agent `codex`.")
    codex_model: Text | None = _key(None, "The model that codex is told to use.", shown="codex's own")
    pi_bin: Text = _key("pi", "The program of the agent `pi`.")
    command: Annotated[list[str], Field(min_length=1)] | None = _key(
        None, 'The program of the agent `command` and its arguments, as in `["prog", "arg"]`.'
    )
    command_history: bool = _key(False, "Whether the agent `command` is given the conversation so far.")
    progress: Literal["typing", "message"] = _key("typing", "How a channel shows that work goes on.")
    shutdown: Literal["hand_over", "stop"] = _key(
        "hand_over", "What a stop does with running agents: `hand_over` lets them finish, `stop` ends them."
    )
    reply_marker: Text = _key("\n\n-- sent by push", "What marks our own messages on iMessage.")
    state_path: Text | None = _key(None, "Cursors and sessions.", shown="`$PUSH_HOME/state.json`")
    database_path: Text | None = _key(None, "The ledger.", shown="`$PUSH_HOME/push.db`")
    audit_log_path: Text | None = _key(None, "The audit log.", shown="`$PUSH_HOME/audit.jsonl`")
    audit_log_content: bool = _key(False, "Whether the audit log holds message text.")
    drafts_dir: Text | None = _key(None, "Proposals of agents.", shown="`$PUSH_HOME/drafts`")
    sessions_dir: Text | None = _key(None, "Accepted for old files; nothing is kept there.", shown="none")
    jobs_agent: Agent | None = _key(None, "Who runs jobs.", shown="`agent`")
    jobs_max_timeout: Timeout = _key("30m", "The longest timeout that a job may ask for.")
    jobs_run_dir: Text | None = _key(None, "Locks of jobs and roles.", shown="`$PUSH_HOME/run`")
    jobs_max_workers: Annotated[int, Field(ge=1, le=256)] = _key(2, "How many scheduled jobs run at a time.")
    imessage: IMessageTable = _key(IMessageTable(), "")
    telegram: TelegramTable = _key(TelegramTable(), "")
    voice: VoiceTable = _key(VoiceTable(), "")
    delivery: DeliveryTable = _key(DeliveryTable(), "")
    primary_delivery: PrimaryDeliveryTable | None = _key(None, "")
    routes: list[RouteTable] = _key([], "")
    sentry: SentryTable = _key(SentryTable(), "")
    retention: RetentionTable = _key(RetentionTable(), "")
    reply: ReservedTable = _key(ReservedTable(), "")
    vault: ReservedTable = _key(ReservedTable(), "")


def table_of(annotation: Any) -> type[BaseModel] | None:
    """The table that a key's annotation holds, alone, in a list or as optional; None where it holds none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((table for inner in getattr(annotation, "__args__", ()) if (table := table_of(inner))), None)
