"""The channels there are: made from the settings, and imported only where they are used."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from push.config.load import load_or_default
from push.config.settings import Settings
from push.model.values import Part, Rendered
from push.providers import registry

TOKEN = SecretStr("123456789:AAE0dGVzdC10b2tlbi1vZi1ub2JvZHktMDAw")


@pytest.fixture
def settings(home: Path) -> Settings:
    settings = load_or_default()
    telegram = replace(settings.telegram, bot_token=TOKEN, base_url="http://127.0.0.1:1")
    return replace(settings, channels=("local", "telegram"), telegram=telegram)


def test_only_channels_that_are_on_and_deliver_by_themselves(settings: Settings) -> None:
    made = registry.channels(settings)
    assert {name: channel.name for name, channel in made.items()} == {"telegram": "telegram"}
    made["telegram"].close()
    assert registry.channels(replace(settings, channels=("local",))) == {}


def test_what_reads_a_channel(settings: Settings) -> None:
    reader = registry.reader_for("telegram", settings)
    assert reader is not None
    assert reader.name == "telegram"
    reader.close()
    assert registry.reader_for("local", settings) is None


def test_a_reply_is_rendered_for_its_channel_without_a_token_and_else_left_as_it_is() -> None:
    long = registry.render("telegram", f"**hi** {'word ' * 2000}")
    assert [len(part.text) <= 4096 for part in long.parts] == [True] * 3
    assert registry.render("local", "**hi**") == Rendered((Part("**hi**"),))


def test_knowing_the_names_imports_none_of_them() -> None:
    program = "import sys, push.providers.registry; sys.exit(bool({'httpx', 'pyromark'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
