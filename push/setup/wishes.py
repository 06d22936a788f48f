"""What the configuration is to say after a set-up: only what was asked for, or what it cannot do without.

Owns which keys that takes; does not own writing them (`push.config.edit`).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from push.agents import demo
from push.config import source
from push.config.edit import Changes, current
from push.config.settings import EMBEDDED_AGENTS


def document(config: Path) -> dict[str, Any]:
    """The configuration as it is written; empty where there is none. Raises ConfigError where it is not TOML."""
    return source.parse(config, current(config))


def agents_present() -> list[str]:
    """The agents whose program is on PATH, in the order in which they are offered."""
    return [name for name in EMBEDDED_AGENTS if shutil.which(name)]


def for_agent(now: dict[str, Any], agent: str) -> Changes:
    """Let `agent` answer. Without a program of the owner's own, `command` is the demonstration."""
    if agent == "command" and "command" not in now:
        return {"agent": agent, "command": list(demo.program())}
    return {"agent": agent}


def for_terminal(now: dict[str, Any]) -> Changes:
    """Let a configuration that names no channel be read by nobody but the terminal."""
    return {} if channels(now) else {"channel": "local"}


def for_telegram(now: dict[str, Any]) -> Changes:
    """Turn Telegram on, beside what is on."""
    on = channels(now)
    if "telegram" in on:
        return {}
    if now.get("channels"):
        return {"channels": [*on, "telegram"]}
    return {"channel": "telegram"} if on in ([], ["local"]) else {"channels": [*on, "telegram"]}


def channels(now: dict[str, Any]) -> list[str]:
    """The channels that are on by the owner's will: iMessage is the default, and needs an address to be one."""
    if now.get("channels") or "channel" in now:
        return list(now.get("channels") or [now["channel"]])
    table = now.get("imessage")
    places = (now, table if isinstance(table, dict) else {})
    return ["imessage"] if any(place.get(key) for place in places for key in ("self_handles", "allow_from")) else []
