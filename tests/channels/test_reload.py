"""A reload under load, and the rotation of a token, as the people on Telegram and the owner meet them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.channels.scene import PEOPLE, Scene
from tests.crash.site import GATED_AGENT, Process
from tests.crash.verdict import check
from tests.telegram.world import TOKEN

pytestmark = pytest.mark.crash

_OTHER = TOKEN.partition(":")[0] + ":AAGanotherTokenOfTheVerySameBot00000000"


def _children(gateway: Process) -> list[str]:
    """The states of the processes below."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(gateway.pid):
            found.append(fields[0])
    return found


def _descriptors(gateway: Process) -> int:
    return len(list(Path(f"/proc/{gateway.pid}/fd").iterdir()))


def _threads(gateway: Process) -> int:
    return len(list(Path(f"/proc/{gateway.pid}/task").iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize(("shutdown", "times"), [("hand_over", 20), ("stop", 4)])
def test_many_reloads_lose_nothing_and_run_nothing_twice(place: Scene, shutdown: str, times: int) -> None:
    place.play(GATED_AGENT)
    place.configure(f'turns_workers = 12\nshutdown = "{shutdown}"')
    gateway = place.serve()
    people = PEOPLE[:12]
    for person in people:
        place.telegram.say(person, f"{person} first")
    place.until(lambda: len(place.entries()) == 12, "twelve agents at work")
    descriptors = 0
    for number in range(times):
        place.configure(f'turns_workers = {12 + number % 3}\nshutdown = "{shutdown}"')
        for person in people[number % 4 :: 4]:
            place.telegram.say(person, f"{person} at {number}")
        assert "works with the new settings" in place.done("reload").out
        if number == times // 2:
            place.gate.touch()
        if number == 1:
            descriptors = _descriptors(gateway)
    said = [f"{person} first" for person in people]
    said += [f"{person} at {number}" for number in range(times) for person in people[number % 4 :: 4]]
    place.until_settled(len(said), 60)
    for person in people:
        wanted = [f"re: {text}" for text in said if text.split()[0] == str(person)]
        assert place.until_answered(person, len(wanted)) == wanted
    assert sorted(place.entries()) == sorted(said)
    assert all(row.attempt == 1 for row in place.turns())
    place.until(lambda: _threads(gateway) < 70, "no thread of earlier parts")
    assert _descriptors(gateway) <= descriptors + 24, "those of agents at work are among the first ones"
    assert _children(gateway) == []
    assert gateway.stop() == 0, gateway.err
    check(place)


def test_a_stalled_send_ends_with_its_old_channel_while_the_new_one_works(place: Scene) -> None:
    gateway = place.serve()
    place.telegram.disturb("sendMessage", "late", chat=7, seconds=4)
    place.telegram.say(7, "slow")
    place.until_telegram(lambda: place.telegram.requests("sendMessage"), "a send that stalls")
    place.done("reload")
    place.telegram.say(8, "quick")
    assert place.until_answered(8, seconds=3) == ["re: quick"]
    assert place.answers(7) == ["re: slow"]  # executed, and not acknowledged yet
    place.telegram.say(7, "next")
    assert place.until_answered(7, 2, seconds=12) == ["re: slow", "re: next"]
    place.until_deliveries("delivered", "delivered", "delivered")
    assert gateway.stop() == 0, gateway.err
    check(place)


def _leaks(place: Scene, *secrets: str) -> list[str]:
    folders = (place.root, place.outside)
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and file != place.config]
    return [f"{s} in {file}" for file in files for s in secrets if s.partition(":")[2].encode() in file.read_bytes()]


def test_c60_a_rotated_token_is_used_at_once_and_neither_is_shown(place: Scene) -> None:
    gateway = place.serve(env={"PUSH_DEBUG": "1"})
    place.telegram.say(7, "one")
    assert place.until_answered(7) == ["re: one"]
    place.until_deliveries("delivered")  # to rotate cuts the connection of an answer that is just being taken
    place.telegram.rotate(_OTHER)
    place.until(lambda: "closed: token_rejected" in place.status(), "a refused token in the status", 40)
    place.telegram.say(7, "two")
    kept = place.run("reload")
    assert kept.wait() == 3
    assert "keeps its old settings: telegram cannot be read" in kept.err
    assert f"token rejected (telegram.bot_token of {place.config})" in kept.err
    place.configure(token=_OTHER)
    place.done("reload")
    assert place.until_answered(7, 2, seconds=5) == ["re: one", "re: two"]
    for words in (("status",), ("status", "--json"), ("config", "show"), ("doctor",), ("reload", "--json")):
        place.run(*words)
    for name in ("cmdline", "environ"):
        assert _OTHER not in Path(f"/proc/{gateway.pid}/{name}").read_text()
    assert gateway.stop() == 0, gateway.err
    assert _leaks(place, TOKEN, _OTHER) == []
    check(place)


def test_a_token_behind_a_descriptor_is_rotated_by_a_reload(place: Scene) -> None:
    secrets = place.outside / "secrets"
    secrets.write_text(f"TELEGRAM_BOT_TOKEN={TOKEN}\n")
    place.config.write_text(place.config.read_text().replace(f'bot_token = "{TOKEN}"\n', ""))
    script = f'PUSH_SECRETS_FD=7 exec "$0" -m push run 7< {secrets}'
    gateway = place.spawn(("/bin/sh", "-c", script, sys.executable))
    place.until_ready(gateway)
    assert gateway.is_running, gateway.err
    place.play("#!/bin/sh\ncat > /dev/null\nenv\nls -l /proc/self/fd /proc/$PPID/fd\n")
    place.telegram.say(7, "what do you see?")
    (seen,) = place.until_answered(7)
    for word in (TOKEN.partition(":")[2], "PUSH_SECRETS_FD", str(secrets)):
        assert word not in seen
    place.until_deliveries("delivered")  # to rotate cuts the connection of an answer that is just being taken
    place.telegram.rotate(_OTHER)
    with secrets.open("w") as file:
        file.write(f"TELEGRAM_BOT_TOKEN={_OTHER}\n")
    place.done("reload")
    place.telegram.say(7, "and now?")
    place.until_answered(7, 2, seconds=5)
    assert gateway.stop() == 0, gateway.err
    secrets.unlink()
    assert _leaks(place, TOKEN, _OTHER) == []


def test_a_channel_that_is_not_there_keeps_the_old_settings(place: Scene) -> None:
    gateway = place.serve()
    old = place.config.read_text()
    place.config.write_text(
        old.replace('["telegram"]', '["telegram", "imessage"]') + '[imessage]\nallow_from = ["a@b.c"]\n'
    )
    refused = place.run("reload", "--json")
    assert refused.wait() == 3
    (item,) = json.loads(refused.out)["items"]
    assert (item["outcome"], item["pid"]) == ("kept", gateway.pid)
    assert item["reason"] == "the channel imessage cannot be polled by this version"
    assert "imessage" not in "".join(request.method for request in place.telegram.requests())
    place.telegram.say(7, "still there?")
    assert place.until_answered(7) == ["re: still there?"]
    assert "stay in effect, the channel imessage cannot be polled" in place.status()
    place.config.write_text(old)
    place.done("reload")
    assert "stay in effect" not in place.status()
    assert gateway.stop() == 0, gateway.err


def test_a_waiting_question_does_not_delay_a_reload(place: Scene) -> None:
    place.serve()
    place.until_telegram(lambda: len(place.telegram.requests("getUpdates")) >= 2, "a question that waits")
    began = time.monotonic()
    place.done("reload")
    assert time.monotonic() - began < 5, "a question waits 25 s"


def test_a_service_that_is_away_does_not_hinder_a_reload(place: Scene) -> None:
    gateway = place.serve()
    place.telegram.refuse_connections()
    place.play("#!/bin/sh\ncat > /dev/null\necho from the new one\n")
    place.done("reload")
    place.telegram.accept_connections()
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["from the new one"]
    assert gateway.stop() == 0, gateway.err
