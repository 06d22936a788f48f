"""The environment of an agent: the gateway's own, without what belongs to Push.

Does not own which values are secrets (`push.config`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from push.config.credentials import FD_ENV, FOLDER_ENV

#: A shorter secret may stand in a value by chance; such a one is only looked for as the whole value.
MIN_PART = 8

#: Where Push's secrets are, whatever `agent_env` says; and the runner gives the agent a PUSH_RUN of its own.
_OURS = frozenset({"PUSH_SEAMS", "PUSH_RUN", FD_ENV, FOLDER_ENV})


def agent_environment(
    base: Mapping[str, str], secret_names: Collection[str], secret_values: Collection[str], agent_env: Collection[str]
) -> dict[str, str]:
    """`base` without the secrets of Push, found by name and by value; a name in `agent_env` is passed on purpose."""
    passed = set(agent_env)
    return {
        name: value
        for name, value in base.items()
        if name not in _OURS
        and (name in passed or not (name in secret_names or any(_holds(value, secret) for secret in secret_values)))
    }


def _holds(value: str, secret: str) -> bool:
    return bool(secret) and (value == secret or (len(secret) >= MIN_PART and secret in value))
