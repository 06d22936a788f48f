"""Channels are connected when first used, once, and those that are off are not there."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from push.config.load import load_or_default
from push.config.settings import Settings
from push.errors import ConfigError
from push.providers import registry
from push.tasks.channels import Channels
from tests.unit.tasks.scripted import NAME, ScriptedChannel


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedChannel]:
    """Every channel that was connected."""
    found: list[ScriptedChannel] = []

    def channels(settings: Settings) -> dict[str, ScriptedChannel]:
        found.append(ScriptedChannel())
        return {name: found[-1] for name in settings.channels if name == NAME}

    monkeypatch.setattr(registry, "channels", channels)
    return found


def settings(*names: str) -> Settings:
    return replace(load_or_default(), channels=names)


def test_a_terminal_connects_nothing(home: Path, made: list[ScriptedChannel]) -> None:
    channels = Channels(settings("local"))
    assert channels.get("local") is None
    assert channels.get(NAME) is None, "it is off"
    assert channels.get("carrier pigeon") is None
    channels.close()
    assert made == []


def test_it_is_connected_when_first_used_and_once(home: Path, made: list[ScriptedChannel]) -> None:
    channels = Channels(settings("local", NAME))
    assert channels.get("local") is None
    assert made == []
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(channels.get(NAME))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(made) == 1
    assert found == [made[0]] * 8


def test_a_process_without_the_token_delivers_nothing(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    channels = Channels(settings(NAME))
    assert channels.get(NAME) is None
    assert "there is no bot token" in caplog.text
    with pytest.raises(ConfigError):
        channels.connect()


def test_closing_closes_each_and_using_one_again_connects_it_anew(home: Path, made: list[ScriptedChannel]) -> None:
    channels = Channels(settings(NAME))
    channels.get(NAME)
    channels.close()
    channels.close()
    assert made[0].closed == 1
    channels.get(NAME)
    assert len(made) == 2
