"""What Push adds between Telegram and an agent, on an idle system, one message at a time.

Owns a home whose channel is a Telegram of its own, and the rows `telegram in`, `out` and `typing`; does not own that
Telegram (`tests.telegram`, a process of its own), which notes when it was asked what.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.gateway import BARE, PATIENCE_SECONDS, Broken, Home
from benchmarks.latency import Bell
from benchmarks.rows import Limit, Row, spread
from benchmarks.sizes import Size
from tests.telegram.records import Request
from tests.telegram.remote import FakeTelegram, separate

NAME = "telegram"
FIRST_USER = 7001
_PEOPLE = 8  # so many that no chat's budget of one message a second holds up what is measured

_AGENT = """\
echo s >"$1"
read -r line
sleep 0.2
echo "answer to $line"
echo e >"$1"
"""

#: The least that a bot does: it asks, shows that it types, starts the agent and sends what that printed.
_BARE_BOT = """
import http.client, json, subprocess, sys
netloc, token, *agent = sys.argv[1:]
def call(connection, method, **parameters):
    body = json.dumps(parameters)
    connection.request("POST", f"/bot{token}/{method}", body, {"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())["result"]
polling, sending = http.client.HTTPConnection(netloc), http.client.HTTPConnection(netloc)
offset = 0
while True:
    for update in call(polling, "getUpdates", offset=offset, timeout=25):
        offset = update["update_id"] + 1
        chat, text = update["message"]["chat"]["id"], update["message"]["text"]
        run = subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        run.stdin.write(text.encode() + b"\\n")
        run.stdin.close()
        call(sending, "sendChatAction", chat_id=chat, action="typing")
        answer = run.stdout.read().decode()
        run.wait()
        call(sending, "sendMessage", chat_id=chat, text=answer.rstrip())
"""


def measure(size: Size) -> Iterator[Row]:
    """One message through Push, one through a bare bot at a Telegram of its own, and so on."""
    ours: list[dict[str, float]] = []
    bare: list[dict[str, float]] = []
    with Bell() as bell, separate() as telegram, separate() as other:
        agent = ["sh", "-c", _AGENT, "agent", str(bell.path)]
        with telegram_home(agent, telegram, _PEOPLE) as home, home.run(), _bare_bot(other, agent):
            for number in range(-1, size.latencies):
                user = FIRST_USER + number % _PEOPLE
                for fake, samples in ((telegram, ours), (other, bare)):
                    time.sleep(size.pause_seconds)
                    samples.append(_one(bell, fake, user, f"message {number}"))
    ours, bare = ours[1:], bare[1:]  # the first opens connections
    for name, what, limits in (
        ("in", "update visible at the Bot API → agent started, idle, ms", {"p50": 35, "p95": 60}),
        ("out", "agent about to exit → sendMessage received, idle, ms", {"p50": 15, "p95": 30}),
        ("typing", "update visible → typing received, idle, ms", {"p50": 30}),
    ):
        yield Row(
            f"{NAME} {name}",
            what,
            measured=spread([sample[name] for sample in ours]),
            floor=spread([sample[name] for sample in bare]),
            floor_what="a bot of 20 lines that keeps nothing",
            limits=[Limit(key, value) for key, value in limits.items()],
        )


@contextmanager
def telegram_home(
    agent: Sequence[str], telegram: FakeTelegram, people: int, *lines: str, channels: Sequence[str] = ("telegram",)
) -> Iterator[Home]:
    """A home whose bot is the one of `telegram`, and lets in so many people, from FIRST_USER on."""
    table = (
        "[telegram]",
        f'bot_token = "{telegram.token}"',
        f'base_url = "{telegram.url}"',
        f'base_file_url = "{telegram.url}/file"',
        f"allow_user_ids = {list(range(FIRST_USER, FIRST_USER + people))}",
    )
    with Home(agent, *lines, *table, channels=channels) as home:
        yield home


def asked(telegram: FakeTelegram, method: str, chat: int) -> Request:
    """The first call of a method for a chat since the last reset, waited for."""
    try:
        calls = telegram.wait_for(
            lambda: [call for call in telegram.requests(method) if call.chat == chat], PATIENCE_SECONDS
        )
    except AssertionError as exc:
        raise Broken(f"no {method} for chat {chat}: {exc}") from None
    return calls[0]


def _one(bell: Bell, telegram: FakeTelegram, user: int, text: str) -> dict[str, float]:
    """Milliseconds from the update to the agent's start and to typing, and from the agent's end to the answer."""
    telegram.reset()
    bell.drain()
    began = time.monotonic()
    telegram.say(user, text)
    started, ended = bell.start_and_end()
    time.sleep(0.05)  # so that looking does not slow down what is looked at
    answer = asked(telegram, "sendMessage", user)
    if answer.parameters["text"] != f"answer to {text}":
        raise Broken(f"the bot sent {answer.parameters}")
    typing = asked(telegram, "sendChatAction", user)
    spans = {"in": started - began, "out": answer.monotonic - ended, "typing": typing.monotonic - began}
    return {name: seconds * 1000 for name, seconds in spans.items()}


@contextmanager
def _bare_bot(telegram: FakeTelegram, agent: Sequence[str]) -> Iterator[None]:
    command = [*BARE, "-c", _BARE_BOT, telegram.url.removeprefix("http://"), telegram.token, *agent]
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.kill()
