"""Everything that Push ever asks of the Bot API is as the published specification says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from push.config.load import load_or_default
from push.gateway import commands, presses
from push.model.values import Delivered, Part
from push.providers.base import Allowlist, Identity, Read
from push.providers.registry import channels, reader_for
from tests.telegram.server import TelegramServer
from tests.telegram.specification import Specification, assert_valid

_ANSWER = (
    "# Title\n**bold** _it_ `code` [a](https://example.org) ~~no~~ ||s||\n> quote\n\n```py\nx = 1\n```\n"
    + "long " * 400
)


@pytest.mark.shared
def test_every_request_is_as_specified(home: Path, shared: Path) -> None:
    with TelegramServer() as server:
        server.say(7, "hello")
        base = load_or_default()
        telegram = replace(base.telegram, base_url=server.url, bot_token=SecretStr(server.token))
        settings = replace(base, channels=("telegram",), telegram=telegram)
        channel, reader = channels(settings)["telegram"], reader_for("telegram", settings)
        assert reader is not None
        assert isinstance(reader.identify(), Identity)
        assert isinstance(reader.poll(3, lambda: Allowlist(frozenset({7}), frozenset()), 0), Read)
        for part in channel.render(_ANSWER).parts:
            assert isinstance(channel.send("7", part, "a note"), Delivered)
        channel.send("7:5", Part("in a topic"))
        channel.typing("7")
        posted = channel.post("7", "at work", presses.stop_button(1))
        assert isinstance(posted, Delivered)
        channel.edit("7", posted.receipt, "still at work", presses.stop_button(1))
        channel.remove("7", posted.receipt)
        channel.answer_press("1", "Stopping.")
        channel.announce_commands(commands.menu())
        requests = server.requests()
        channel.close()
        reader.close()
    assert {request.method for request in requests} == {
        *("getMe", "getUpdates", "sendMessage", "sendChatAction", "editMessageText", "deleteMessage"),
        *("answerCallbackQuery", "setMyCommands"),
    }
    assert_valid(requests, Specification.read(shared))
