"""Rules between keys: what must be set when something else is, and what must not.

Owns everything that the schema cannot say of one key alone; does not own paths (`push.config.places`).
"""

from __future__ import annotations

from collections.abc import Iterator

from push.config.credentials import Credential
from push.config.findings import Finding
from push.config.kinds import TOKEN_SHAPE, token_complaint
from push.config.schema import FileTable, VoiceTable
from push.config.toml_lines import KeyPath
from push.errors import ConfigError

#: The voices of the service's speech model, as its reference lists them.
OPENAI_VOICES = (
    "alloy ash ballad coral echo fable onyx nova sage shimmer verse marin cedar".split()  # noqa: SIM905
)


def enabled_channels(table: FileTable) -> tuple[str, ...]:
    """The channels in file order."""
    return tuple(table.channels or (table.channel,))


def check_rules(table: FileTable) -> list[Finding]:
    """Every rule that is broken."""
    return [
        *_channels(table),
        *_agents(table),
        *_routes(table),
        *_voice(table),
    ]


def _channels(table: FileTable) -> Iterator[Finding]:
    channels = enabled_channels(table)
    source: KeyPath = ("channels",) if table.channels else ("channel",)
    for index, name in enumerate(table.channels):
        if name in table.channels[:index]:
            yield Finding(("channels", index), f"names {name} a second time", "each channel once")
    if "imessage" in channels and not (table.imessage.self_handles or table.imessage.allow_from):
        wanted = (
            'imessage.self_handles or imessage.allow_from to hold an address (Telegram: channel = "telegram"; '
            'only the terminal: channel = "local")'
        )
        chosen = table.model_fields_set & {"channel", "channels"}
        how = "turns iMessage on" if chosen else "is missing, which means iMessage"
        yield Finding(source, f"{how}, and nobody is allowed to write", wanted)


def refuse_token(table: FileTable, outside: Credential | None) -> None:
    """Raise ConfigError where the token that Telegram would be read with is not the file's, and cannot be one."""
    if "telegram" not in enabled_channels(table) or table.telegram.bot_token or outside is None:
        return
    if got := token_complaint(outside.value.get_secret_value()):
        raise ConfigError(
            f"{outside.place} holds {got}",
            why=f"expected {TOKEN_SHAPE}",
            hint=f"unset {outside.through}",
            code="wrong_token",
        )


def _agents(table: FileTable) -> Iterator[Finding]:
    if table.command is not None:
        if not table.command[0].strip():
            yield Finding(("command", 0), "is a blank string", "the name of a program")
        for index, word in enumerate(table.command):
            if "\0" in word:
                yield Finding(("command", index), "is a string with a NUL character", "a string without")
    else:
        users: list[tuple[KeyPath, str | None]] = [(("agent",), table.agent), (("jobs_agent",), table.jobs_agent)]
        users += [(("routes", index, "agent"), route.agent) for index, route in enumerate(table.routes)]
        for path, agent in users:
            if agent == "command":
                yield Finding(path, "is command, and no command is set", 'a key command = ["prog", "arg"]')


def _routes(table: FileTable) -> Iterator[Finding]:
    for index, route in enumerate(table.routes):
        if route.thread is None and route.channel is None:
            yield Finding(("routes", index), "has neither thread nor channel", "at least one of them")


def _voice(table: FileTable) -> Iterator[Finding]:
    voice = table.voice
    if voice.base_url == VoiceTable().base_url and voice.name not in OPENAI_VOICES:
        yield Finding(("voice", "name"), "is no voice of OpenAI", f"one of {', '.join(OPENAI_VOICES)}")
