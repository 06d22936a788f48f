"""Long and odd answers arrive whole: every part within Telegram's limits, formatting balanced, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.channels.scene import Scene, scene
from tests.crash.verdict import check
from tests.telegram.records import Sent
from tests.telegram.remote import FakeTelegram
from tests.telegram.texts import units

pytestmark = pytest.mark.crash

#: Answers with the file that the message names.
_READER = """#!/bin/sh
m=$(cat)
printf '%s\\n' "$m" >> "$DIARY"
cat "$(dirname "$DIARY")/answers/$m"
"""

_HAT = "\U0001f3a9"
ANSWERS = {
    "bold": "a" * 4085 + " **bold across the limit of one message** end",
    "fence": "```python\n" + "".join(f"line {number} = {number}\n" for number in range(600)),
    "hats": _HAT * 2049,
    "html": "<b>kept as it is</b> & <script>",
    "surrogate": "before \udcff after",
}


@pytest.fixture
def place(home: Path, telegram: FakeTelegram) -> Iterator[Scene]:
    with scene(home, telegram, agent=_READER) as made:
        (home / "answers").mkdir()
        for name, text in ANSWERS.items():
            (home / "answers" / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        yield made


def _marked(part: Sent, kind: str) -> str:
    """What stands in bold, or in code."""
    raw = part.text.encode("utf-16-le")
    spans = [(entity["offset"], entity["length"]) for entity in part.entities if entity["type"] == kind]
    return "".join(raw[2 * offset : 2 * (offset + length)].decode("utf-16-le") for offset, length in spans)


def test_c22_c23_long_and_odd_answers_arrive_whole(place: Scene) -> None:
    place.serve()
    for person, name in enumerate(ANSWERS, start=7):
        place.telegram.say(person, name)
    place.until_deliveries(*["delivered"] * len(ANSWERS))
    parts = {name: place.telegram.sent(person) for person, name in enumerate(ANSWERS, start=7)}
    assert all(units(part.text) <= 4096 for sent in parts.values() for part in sent)

    assert len(parts["bold"]) == 2
    previews = [request.parameters.get("link_preview_options") for request in place.telegram.requests("sendMessage")]
    assert len([shown for shown in previews if shown is None]) == 2, "html and surrogate, which are short"
    bold = "".join("".join(part.text for part in parts["bold"]).split())
    assert bold == ANSWERS["bold"].replace("**", "").replace(" ", "")
    assert "".join("".join(_marked(part, "bold") for part in parts["bold"]).split()) == "boldacrossthelimitofonemessage"

    assert len(parts["fence"]) >= 3
    code = "\n".join(_marked(part, "pre").strip("\n") for part in parts["fence"])
    assert code.splitlines() == ANSWERS["fence"].splitlines()[1:]

    assert "".join(part.text for part in parts["hats"]) == ANSWERS["hats"]
    assert [units(part.text) % 2 for part in parts["hats"]] == [0, 0]
    assert [part.text for part in parts["html"]] == [ANSWERS["html"]]
    (odd,) = parts["surrogate"]
    assert odd.text.startswith("before ")
    assert odd.text.endswith(" after")
    assert place.telegram.violations() == []
    assert sorted(place.entries()) == sorted(ANSWERS)
    check(place)
