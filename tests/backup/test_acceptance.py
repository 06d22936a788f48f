"""A backup of a busy gateway, restored elsewhere and started against the same Telegram: nothing is answered twice."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.backup.copies import Copy, copy
from tests.channels.scene import REPEAT, Scene
from tests.telegram.remote import FakeTelegram

pytestmark = pytest.mark.crash

CHATS = tuple(range(7, 19))
_LATE_SENDS = 8


class Traffic:
    """People of twelve chats, who write at random, each text once."""

    def __init__(self, telegram: FakeTelegram, seed: int) -> None:
        self._telegram = telegram
        self._chance = random.Random(seed)
        self.said: list[tuple[str, dict[str, Any]]] = []

    def say(self, count: int) -> None:
        """Some messages, a little apart."""
        for _ in range(count):
            text = f"m{len(self.said)}."
            self.said.append((text, self._telegram.say(self._chance.choice(CHATS), text)))
            time.sleep(self._chance.uniform(0, 0.06))

    def served_again(self, count: int) -> None:
        """The newest updates come once more: the original handled them, and died before it confirmed them."""
        for _, update in self.said[-count:]:
            self._telegram.add_update(update)


def answers(telegram: FakeTelegram) -> tuple[Counter[str], Counter[str]]:
    """How often each text was answered plainly, and how often as a possible repeat, by what the server took."""
    plain, marked = Counter[str](), Counter[str]()
    for sent in telegram.sent():
        note, _, text = sent.text.rpartition("re: ")
        (marked if note.startswith(REPEAT) else plain)[text] += 1
    return plain, marked


def backed_up(original: Scene, traffic: Traffic, file: Path) -> None:
    """The backup is made in the middle of everything, some sends being under way."""
    original.telegram.disturb("sendMessage", "late", seconds=0.7, times=_LATE_SENDS)
    process = original.start("backup", "create", str(file))
    while process.is_running:
        traffic.say(1)
    assert process.wait() == 0, process.err


def next_second(original: Scene) -> None:
    """Telegram's dates have no fractions: what is written in the second of the restore counts as of before."""
    now = int(time.time())
    original.until(lambda: time.time() >= now + 1, "another second")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_is_answered_twice(original: Scene, elsewhere: Path, seed: int) -> None:
    telegram, traffic = original.telegram, Traffic(original.telegram, seed)
    file = elsewhere.parent / "backup.tar.gz"
    gateway = original.serve()
    traffic.say(40)
    backed_up(original, traffic, file)
    of_the_backup = len(traffic.said)
    traffic.say(20)
    original.until_telegram(
        lambda: any(text in answers(telegram)[0] for text, _ in traffic.said[of_the_backup:]), "one"
    )
    gateway.kill()
    original.end_all()
    traffic.served_again(15)
    telegram.say(7, "while nobody reads")
    telegram.say(8, "/stop")

    restored = original.run("backup", "restore", str(file), "--to", str(elsewhere), "--json")
    assert restored.wait() == 0, restored.err
    assert sum(json.loads(restored.out)["held"].values()) > 0
    next_second(original)
    with copy(elsewhere, telegram) as other:
        other.done("verify")
        other.serve()
        check_what_is_new(other)
        plain, marked = answers(telegram)
        assert {text: count for text, count in plain.items() if count > 1} == {}
        assert marked == Counter()
        assert plain["while nobody reads"] == 0
        check_what_is_held(other)
        check_what_is_released(other)


def check_what_is_new(other: Copy) -> None:
    for chat in CHATS:
        other.telegram.say(chat, f"new in {chat}.")
    wanted = {f"new in {chat}." for chat in CHATS}
    other.until_telegram(lambda: wanted <= set(answers(other.telegram)[0]), "answers to all that is new", 60)
    sent = [sent.text for sent in other.telegram.sent(8)]
    assert not any("Nothing" in text or "Stopping" in text for text in sent)  # the /stop of before


def check_what_is_held(other: Copy) -> None:
    found = json.loads(other.done("status", "--json").out)
    assert found["turns"]["held"] >= 2
    assert "push retries list" in {note["hint"] for note in found["attention"]}
    rows = json.loads(other.done("retries", "list", "--json").out)["items"]
    assert {(row["state"], row["reason"]) for row in rows} == {("held", "restored")}
    assert len(rows) == found["turns"]["held"] + found["deliveries"]["held"]
    assert all(row["hint"] == f"push retries now {row['id']}" for row in rows)
    other.done("verify")


def check_what_is_released(other: Copy) -> None:
    [stop] = other.query("SELECT id FROM turn WHERE text = '/stop'")
    other.done("retries", "drop", f"t{stop[0]}")  # it would take back what waits in that chat
    other.done("retries", "now", "--held")
    total = other.query("SELECT count(*) FROM turn")[0][0]
    other.until_settled(total, 90)
    other.until(lambda: {row[0] for row in other.deliveries()} == {"delivered"}, "all deliveries", 60)
    plain, marked = answers(other.telegram)
    known = [text for (text,) in other.query("SELECT text FROM turn WHERE kind = 'message'")]
    assert [text for text in known if not plain[text] + marked[text]] == []
    assert {text: count for text, count in plain.items() if count > 1} == {}
    assert {text: count for text, count in marked.items() if count > 1} == {}
    assert marked["while nobody reads"] == 1
    other.done("verify")


def test_restoring_over_anything_refuses(original: Scene, elsewhere: Path) -> None:
    file = elsewhere.parent / "backup.tar"
    original.done("backup", "create", str(file))
    elsewhere.mkdir()
    original.done("backup", "restore", str(file), "--to", str(elsewhere))  # an empty folder is no home
    before = sorted(path.name for path in elsewhere.iterdir())
    for target in (original.root, elsewhere, file.parent):
        process = original.run("backup", "restore", str(file), "--to", str(target))
        assert process.wait() == 6
        assert "is not empty" in process.err
    assert sorted(path.name for path in elsewhere.iterdir()) == before
    process = original.run("backup", "create", str(file))
    assert process.wait() == 6
