"""Which keys a set-up changes, given what stands there."""

from __future__ import annotations

from typing import Any

import pytest

from push.agents import demo
from push.setup import wishes


@pytest.mark.parametrize(
    ("now", "telegram", "terminal"),
    [
        ({}, {"channel": "telegram"}, {"channel": "local"}),
        ({"channel": "local"}, {"channel": "telegram"}, {}),
        ({"channel": "telegram"}, {}, {}),
        ({"channel": "imessage"}, {"channels": ["imessage", "telegram"]}, {}),
        ({"channels": []}, {"channel": "telegram"}, {"channel": "local"}),
        ({"channels": ["local"]}, {"channels": ["local", "telegram"]}, {}),
        ({"channels": ["imessage", "telegram"], "channel": "local"}, {}, {}),
        ({"imessage": {"allow_from": ["a@example.org"]}}, {"channels": ["imessage", "telegram"]}, {}),
        ({"self_handles": ["+49"]}, {"channels": ["imessage", "telegram"]}, {}),
        ({"imessage": {"allow_from": []}}, {"channel": "telegram"}, {"channel": "local"}),
    ],
)
def test_channels(now: dict[str, Any], telegram: dict[str, Any], terminal: dict[str, Any]) -> None:
    assert wishes.for_telegram(now) == telegram
    assert wishes.for_terminal(now) == terminal


def test_the_demonstration_is_what_command_is_without_a_program() -> None:
    assert wishes.for_agent({}, "command") == {"agent": "command", "command": list(demo.program())}
    assert wishes.for_agent({"command": ["mine"]}, "command") == {"agent": "command"}
    assert wishes.for_agent({}, "pi") == {"agent": "pi"}
