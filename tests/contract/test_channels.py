"""Every channel that delivers by itself keeps the contract of `push/providers/base.py`, over its own service's double.

A new channel is a bench in BENCHES and nothing else here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from push.config.load import load_or_default
from push.config.settings import Settings
from push.model.values import Delivered, NotSent, Part, Refused, Unknown
from push.providers.registry import CHANNELS, Connected, channels
from tests.telegram.server import TelegramServer


@dataclass(frozen=True)
class Bench:
    """A channel, connected to a double of its service, and what the contract needs to see and to break.

    `shown` is what the person at `target` sees; `complaints` are the service's own, of whatever it was asked.
    The rest make the next send: fail as too early, for 3 seconds; be refused; be executed without an answer; or
    find nobody who listens.
    """

    channel: Connected
    target: str
    shown: Callable[[], list[str]]
    complaints: Callable[[], list[str]]
    too_early: Callable[[], None]
    refuse: Callable[[], None]
    lose: Callable[[], None]
    vanish: Callable[[], None]


@contextmanager
def telegram_bench(base: Settings) -> Iterator[Bench]:
    with TelegramServer() as server:
        server.add_chat(7)
        telegram = replace(base.telegram, base_url=server.url, bot_token=SecretStr(server.token))
        channel = channels(replace(base, channels=("telegram",), telegram=telegram))["telegram"]

        def shown() -> list[str]:
            return [sent.text for sent in server.sent(7) if not sent.deleted]

        def complaints() -> list[str]:  # how fast it may go is told by `paces`; whoever sends keeps to it
            return server.violations(chat_period=0.0, overall_messages=10**6)

        yield Bench(
            channel,
            "7",
            shown,
            complaints,
            lambda: server.flood("sendMessage", retry_after=3),
            lambda: server.close_chat(7, "blocked"),
            lambda: server.disturb("sendMessage", "lose"),
            server.refuse_connections,
        )
        channel.close()


BENCHES: Final[dict[str, Callable[[Settings], AbstractContextManager[Bench]]]] = {"telegram": telegram_bench}


@pytest.fixture(params=sorted(BENCHES))
def bench(request: pytest.FixtureRequest, home: Path) -> Iterator[Bench]:
    with BENCHES[request.param](load_or_default()) as made:
        yield made


def send_all(bench: Bench, markdown: str) -> list[str]:
    """Render and send a reply; returns what is shown of it."""
    before = len(bench.shown())
    for part in bench.channel.render(markdown).parts:
        outcome = bench.channel.send(bench.target, part)
        assert isinstance(outcome, Delivered), (outcome, part)
    return bench.shown()[before:]


def test_every_channel_has_a_bench() -> None:
    assert set(BENCHES) == {name for name, provider in CHANNELS.items() if provider.channel}


def test_it_goes_by_the_name_of_the_settings(bench: Bench) -> None:
    assert bench.channel.name in CHANNELS


def test_a_reply_arrives_whole_and_within_the_limits(bench: Bench) -> None:
    words = [f"word{number}" for number in range(3000)]
    reply = f"# Title\n\n{' '.join(words)}\n\n```python\nx = 1\n```\n\n- **bold** <b>raw</b> _it_ [link](https://a.example/x)\n"
    shown = send_all(bench, reply)
    found = re.findall(r"\w+", " ".join(shown))
    assert [word for word in found if word.startswith("word")] == words
    assert {"Title", "x", "1", "bold", "raw", "it", "link"} <= set(found)
    assert len(shown) > 1
    assert bench.complaints() == []


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1).map(lambda text: text.replace("\0", "")))
def test_whatever_an_agent_writes_can_be_sent(bench: Bench, markdown: str) -> None:
    assert send_all(bench, markdown)


@pytest.mark.parametrize(
    "markdown", ["", " \n", "**", "```", "<b>", "👨‍👩‍👧" * 3000, "*" * 9000, "[x](y)" * 2000, "a\ud83db"]
)
def test_nothing_that_is_rendered_is_refused(bench: Bench, markdown: str) -> None:
    assert all(send_all(bench, markdown))
    assert bench.complaints() == []


def test_each_message_has_a_receipt_of_its_own(bench: Bench) -> None:
    outcomes = [bench.channel.send(bench.target, Part("hi")) for _ in range(3)]
    receipts = {outcome.receipt for outcome in outcomes if isinstance(outcome, Delivered)}
    assert len(receipts) == 3
    assert all(receipts)


def test_a_note_stands_before_the_text(bench: Bench) -> None:
    part = bench.channel.render("**bold** and more").parts[0]
    assert isinstance(bench.channel.send(bench.target, part, "🔁 Possibly a repeat:"), Delivered)
    assert re.fullmatch(r"🔁 Possibly a repeat:\s+bold and more\s*", bench.shown()[-1])


def test_the_outcomes_of_a_send(bench: Bench) -> None:
    bench.too_early()
    outcome = bench.channel.send(bench.target, Part("early"))
    assert isinstance(outcome, NotSent)
    assert outcome.retry_after == 3.0
    bench.lose()
    assert isinstance(bench.channel.send(bench.target, Part("lost")), Unknown)
    assert bench.shown() == ["lost"]
    bench.refuse()
    refused = bench.channel.send(bench.target, Part("refused"))
    assert isinstance(refused, Refused)
    assert refused.final
    bench.vanish()
    outcome = bench.channel.send(bench.target, Part("nobody"))
    assert isinstance(outcome, NotSent)
    assert outcome.retry_after is None
    assert bench.shown() == ["lost"]


@pytest.mark.parametrize("target", ["", "0", "nobody", "7:", ":", "7:x", "9" * 40, "٧"])
def test_no_target_makes_it_raise(bench: Bench, target: str) -> None:
    outcomes = [bench.channel.send(target, Part("hi")), bench.channel.post(target, "hi"), bench.channel.typing(target)]
    outcomes += [bench.channel.edit(target, "x", "hi"), bench.channel.remove(target, "x")]
    assert not any(isinstance(outcome, Unknown) for outcome in outcomes)
    assert bench.channel.paces(target)


def test_threads_send_at_once(bench: Bench) -> None:
    with ThreadPoolExecutor(6) as threads:
        outcomes = list(threads.map(lambda n: bench.channel.send(bench.target, Part(f"{n}")), range(30)))
    assert all(isinstance(outcome, Delivered) for outcome in outcomes)
    assert sorted(bench.shown(), key=int) == [str(number) for number in range(30)]


def test_budgets_are_positive_and_the_first_is_the_chats(bench: Bench) -> None:
    paces = bench.channel.paces(bench.target)
    assert paces[0].key
    assert len({pace.key for pace in paces}) == len(paces)
    assert all(count > 0 and seconds > 0 for pace in paces for count, seconds in pace.limits)
    assert bench.channel.paces(bench.target) == paces


def test_signs_of_life(bench: Bench) -> None:
    channel, target = bench.channel, bench.target
    assert isinstance(channel.typing(target), Delivered)
    posted = channel.post(target, "working", "stop:1")
    assert isinstance(posted, Delivered)
    assert channel.edit(target, posted.receipt, "still working", "stop:1") == posted
    assert channel.edit(target, posted.receipt, "still working", "stop:1") == posted  # as it should be
    assert bench.shown() == ["still working"]
    assert channel.remove(target, posted.receipt) == posted
    assert channel.remove(target, posted.receipt) == posted  # gone already
    assert bench.shown() == []
    assert isinstance(channel.announce_commands((("stop", "End the run"), ("help", "What I can do"))), Delivered)
    assert isinstance(channel.answer_press("unknown", "too late"), Refused)
    assert bench.complaints() == []


def test_signs_meet_the_same_troubles(bench: Bench) -> None:
    bench.too_early()
    outcome = bench.channel.post(bench.target, "early")
    assert isinstance(outcome, NotSent)
    assert outcome.retry_after == 3.0
    bench.vanish()
    assert isinstance(bench.channel.typing(bench.target), NotSent)


def test_a_closed_channel_sends_nothing(bench: Bench) -> None:
    bench.channel.close()
    bench.channel.close()
    assert isinstance(bench.channel.send(bench.target, Part("hi")), NotSent)
    assert bench.shown() == []
