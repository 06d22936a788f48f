"""The scenario by which the outbox is accepted: sixty messages over Telegram, five kills, and one answer lost."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from tests.channels.scene import REPEAT, Scene
from tests.crash.verdict import check

pytestmark = [pytest.mark.crash, pytest.mark.slow]

PEOPLE = range(7, 19)
MESSAGES = 5
KILLS = 5

#: Slow, so that kills meet it; its diary has a line for each run.
_SLOW = """#!/bin/sh
m=$(cat)
printf '%s%s\\n' "$m" "${PUSH_INTERRUPTED:+ (again)}" >> "$DIARY"
sleep 0.5
printf 're: %s\\n' "$m"
"""


def test_sixty_messages_five_kills_and_a_lost_response(place: Scene) -> None:
    seed = random.getrandbits(32)
    print("seed", seed)
    chance = random.Random(seed)
    place.play(_SLOW)
    said = {person: [f"{person}.{number}" for number in range(MESSAGES)] for person in PEOPLE}
    gateway = place.serve()
    place.telegram.disturb("sendMessage", "lose", chat=chance.choice(PEOPLE))
    for number in range(MESSAGES):
        for person in PEOPLE:
            place.telegram.say(person, said[person][number])
    for sends in sorted(chance.sample(range(1, 50), KILLS)):
        place.until_telegram(lambda sends=sends: len(place.telegram.sent()) >= sends, f"{sends} sends", 60)  # type: ignore[misc]
        gateway.kill()
        gateway = place.serve()
    place.until_settled(60, 60)
    place.until(lambda: {row[0] for row in place.deliveries()} <= {"delivered", "unknown"}, "nothing on its way", 60)

    assert sorted(place.entries()) == sorted(text for texts in said.values() for text in texts)  # no run repeated
    doubtful = {text for text, repeat, _ in _repeats(place) if repeat}
    assert 1 <= len(doubtful) <= 1 + 4 * KILLS  # the lost one, and what the workers had in hand at a kill
    held = {text for text, _, state in _repeats(place) if state == "unknown"}  # met by two kills: a person decides
    assert len(held) <= KILLS
    for person, texts in said.items():
        arrived = defaultdict[str, list[str]](list)
        for answer in place.answers(person):
            arrived[answer.rpartition("re: ")[2]].append(answer)
        lost = [text for text in texts if text not in arrived]
        assert list(arrived) == [text for text in texts if text in arrived]
        assert set(lost) <= held
        for text, answers in arrived.items():
            marks = [answer.startswith(REPEAT) for answer in answers]
            assert marks in ([[False], [True], [False, True]] if text in doubtful else [[False]])
    cut = next(request for request in place.telegram.requests("sendMessage") if request.fault == "lose")
    assert cut.parameters["text"].rpartition("re: ")[2] in doubtful
    assert place.telegram.violations() == []
    listed = place.listed()
    assert all(f"d{row} " in listed for (row,) in place.query("SELECT id FROM outbound WHERE repeat = 1"))
    check(place)


def _repeats(place: Scene) -> list[tuple[str, int, str]]:
    sql = "SELECT t.text, o.repeat, o.state FROM outbound o JOIN turn t ON t.id = o.turn_id"
    return [(str(text), int(repeat), str(state)) for text, repeat, state in place.query(sql)]
