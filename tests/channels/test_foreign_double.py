"""One message and one answer over a Bot API that others wrote: what we believe of Telegram is not only our fake's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.channels.scene import Scene
from tests.crash.site import AGENT
from tests.telegram.implementations import foreign_telegram


def test_a_message_is_answered_over_a_foreign_implementation(home: Path) -> None:
    with foreign_telegram() as telegram:
        double: Any = telegram  # it has a URL and a token, which is all that a home needs
        place = Scene(home, double, agent=AGENT)
        try:
            place.serve()
            telegram.say(7, "hello")
            place.until(lambda: [sent["text"] for sent in telegram.sent()] == ["re: hello"], "the answer")
            assert place.states() == ["answered"]
        finally:
            place.end_all()
