"""Rehydration: at most 20 messages, 4 KiB each, 16 KiB in all; delimited as JSON; nothing in it attaches a file."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from push.gateway import prompts

texts = st.text(max_size=6000)
histories = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), max_size=30)


def _lines(prompt: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in prompt.split("\n") if line.startswith('{"role"')]


def test_without_history_the_message_stands_alone() -> None:
    assert prompts.with_history("hello", []) == ("hello", 0)


def test_history_comes_oldest_first_and_the_message_last() -> None:
    prompt, count = prompts.with_history("now", [("user", "one"), ("assistant", "two")])
    assert count == 2
    assert _lines(prompt) == [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    assert prompt.endswith("\n\nnow")


@given(histories)
def test_limits_hold_and_the_newest_are_kept(history: list[tuple[str, str]]) -> None:
    prompt, count = prompts.with_history("now", history)
    block = prompt.removesuffix("now")
    assert len(block.encode()) <= prompts.MAX_BLOCK_BYTES
    assert count <= prompts.MAX_MESSAGES
    lines = _lines(block)
    assert len(lines) == count
    for line, (role, text) in zip(lines, history[len(history) - count :], strict=True):
        assert line["role"] == role
        assert line["content"] == text or (
            line["content"].endswith(" […]") and text.startswith(line["content"].removesuffix(" […]"))
        )
    assert all(len(line.encode()) <= prompts.MAX_MESSAGE_BYTES for line in block.split("\n"))


def test_a_full_block_of_small_messages_holds_twenty() -> None:
    prompt, count = prompts.with_history("now", [("user", f"message {i}") for i in range(40)])
    assert count == 20
    assert _lines(prompt)[0]["content"] == "message 20"


def test_an_at_sign_cannot_attach_a_file() -> None:
    prompt, _ = prompts.with_history("now", [("user", "see @/etc/passwd")])
    assert "@" not in prompt.removesuffix("now")
    assert _lines(prompt)[0]["content"] == "see @/etc/passwd"


def test_a_cut_message_says_so() -> None:
    prompt, _ = prompts.with_history("now", [("user", "ü" * 5000)])
    assert _lines(prompt)[0]["content"].endswith(" […]")


def test_an_interrupted_run_is_told_so_before_the_message() -> None:
    assert prompts.after_interruption("do it").endswith("\n\ndo it")
    assert "interrupted" in prompts.after_interruption("do it")
