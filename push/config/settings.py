"""The settings of one gateway, checked, resolved and frozen.

Owns the values and what follows from them (which agent, which program); does not own the file (`push.config.load`).
Durations are seconds, paths are absolute and have no symlinks in what existed at the time of loading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from push.paths import Home

#: The agents that the embedded default tries, in this order.
EMBEDDED_AGENTS = ("claude", "codex", "pi")

#: Variables from which Push takes a secret, whatever the file says.
TELEGRAM_TOKEN_ENV = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - a name, not a secret
OPENAI_KEY_ENV = "OPENAI_API_KEY"
SENTRY_DSN_ENV = "SENTRY_DSN"


@dataclass(frozen=True, slots=True)
class Delivery:
    """How long an unsent reply is tried (seconds), and what follows an outcome that cannot be known."""

    expire_after: float
    on_unknown: str  # "once" | "hold"


@dataclass(frozen=True, slots=True)
class Telegram:
    """The Telegram channel. `bot_token` is None where neither the file nor the outside holds one.

    `place` says in words where the token is from.
    """

    bot_token: SecretStr | None
    place: str
    bot_token_env: str
    allow_user_ids: frozenset[int]
    allow_chat_ids: frozenset[int]
    base_url: str
    base_file_url: str


@dataclass(frozen=True, slots=True)
class IMessage:
    """The iMessage channel. Handles are as the owner wrote them; the channel normalises."""

    db_path: Path
    self_handles: tuple[str, ...]
    allow_from: tuple[str, ...]
    osascript_bin: str


@dataclass(frozen=True, slots=True)
class Voice:
    """The voice service. Without a key there is no voice."""

    openai_api_key: SecretStr | None
    service: str
    base_url: str
    transcribe_model: str
    speech_model: str
    name: str


@dataclass(frozen=True, slots=True)
class Sentry:
    """Error reports. Without a DSN there are none."""

    dsn: SecretStr | None
    environment: str
    traces_sample_rate: float


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is over is kept, in seconds; None is for ever."""

    history: float | None
    audit: float | None
    logs: float | None
    spool: float | None


@dataclass(frozen=True, slots=True)
class PrimaryDelivery:
    """Where proactive output goes. Whether the channel is on and the target allowed is asked when it is used."""

    channel: str
    target: str


@dataclass(frozen=True, slots=True)
class Route:
    """One rule that sends a conversation, or a whole channel, to an agent of its own."""

    thread: str | None
    channel: str | None
    agent: str

    def takes_channel(self, channel: str) -> bool:
        """Whether the rule applies to this channel at all."""
        return self.channel is None or self.channel == channel

    def names(self, conversation: str, channel: str) -> bool:
        """Whether the rule names exactly this conversation. iMessage keys of old files have no channel in front."""
        if self.thread is None or not self.takes_channel(channel):
            return False
        return conversation in {self.thread, f"imessage:{self.thread}"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a gateway was told. `path` is None for the embedded default.

    `agent` is "" in the embedded default until `with_agent`. `channels` are those to be polled, in file order; the
    terminal (`local`) is available whether it is listed or not. `written` holds the dotted keys that the file sets.
    `sources` tells for each secret that is set by its dotted key: `file`, `descriptor`, `credential` or `environment`.
    """

    path: Path | None
    home: Home
    channels: tuple[str, ...]
    agent: str
    assistant_root: Path
    poll_interval: float
    run_timeout: float
    turns_workers: int
    agent_env: tuple[str, ...]
    claude_bin: str
    codex_bin: str
    pi_bin: str
    codex_model: str | None
    command: tuple[str, ...] | None
    command_history: bool
    progress: str  # "typing" | "message"
    shutdown: str  # "hand_over" | "stop"
    reply_marker: str
    audit_log_content: bool
    jobs_agent: str
    jobs_max_timeout: float
    jobs_max_workers: int
    delivery: Delivery
    telegram: Telegram
    imessage: IMessage
    voice: Voice
    sentry: Sentry
    retention: Retention
    primary_delivery: PrimaryDelivery | None
    routes: tuple[Route, ...]
    secrets: tuple[SecretStr, ...]
    sources: Mapping[str, str]
    written: frozenset[str]

    def agent_for(self, conversation: str, channel: str) -> str:
        """The agent of a conversation: its own rule, its Telegram topic's chat, its channel, else the default.

        Within each step the first rule in file order wins.
        """
        chain = [conversation]
        parent, topic, _ = conversation.rpartition(":topic:")
        if topic and channel == "telegram":
            chain.append(parent)
        for key in chain:
            for route in self.routes:
                if route.names(key, channel):
                    return route.agent
        for route in self.routes:
            if route.thread is None and route.takes_channel(channel):
                return route.agent
        return self.agent

    def bin_for(self, agent: str) -> tuple[str, ...]:
        """The program of an agent, with its first arguments. Raises KeyError for a name that is no agent."""
        programs = {
            "claude": (self.claude_bin,),
            "codex": (self.codex_bin,),
            "pi": (self.pi_bin,),
            "command": self.command or (),
        }
        return programs[agent]

    def with_agent(self, agent: str, command: tuple[str, ...] | None = None) -> Settings:
        """The same settings with the default agent chosen."""
        return replace(self, agent=agent, jobs_agent=agent, command=command or self.command)

    def secret_values(self) -> tuple[str, ...]:
        """Every secret that the file or the outside holds, for scrubbing. Longest first."""
        return tuple(sorted({secret.get_secret_value() for secret in self.secrets}, key=len, reverse=True))

    def secret_env_names(self) -> frozenset[str]:
        """The variables that hold Push's own secrets: none of them reaches an agent unless `agent_env` names it."""
        return frozenset({TELEGRAM_TOKEN_ENV, OPENAI_KEY_ENV, SENTRY_DSN_ENV, self.telegram.bot_token_env})
