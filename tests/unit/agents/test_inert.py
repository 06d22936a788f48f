"""Exactly what is done to a prompt; that it helps is shown by the real CLIs (tests/e2e)."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.agents.registry import adapter_for
from push.model.values import Request

Z = "\u200b"


def sent(name: str, prompt: str) -> str:
    request = Request(None, True, Path("/w"), "", Path("/i"), prompt)
    return adapter_for(name, (name,)).prompt_bytes(request).decode()


@pytest.mark.parametrize(
    ("prompt", "inert"),
    [
        ("/clear", "\n/clear"),
        ("\0/clear", "\n/clear"),
        ("\ufeff/clear", "\n\ufeff/clear"),
        (" /clear", " /clear"),
        ("see /etc", "see /etc"),
        ("@/etc/hostname", f"{Z}@/etc/hostname"),
        ('look @"/etc/host name"', f'look {Z}@"/etc/host name"'),
        ("終わり。@/etc/hostname", f"終わり。{Z}@/etc/hostname"),
        ("x\ufeff@a\u3000@b(@c", f"x\ufeff{Z}@a\u3000{Z}@b({Z}@c"),
        ("@@x", f"{Z}@@x"),
        ('mail a@b.c, `@x`, "@y", \\@z, 5 @ 3', 'mail a@b.c, `@x`, "@y", \\@z, 5 @ 3'),
    ],
)
def test_claude(prompt: str, inert: str) -> None:
    assert sent("claude", prompt) == inert


@pytest.mark.parametrize(
    ("prompt", "inert"),
    [
        ("$skill-creator", f"${Z}skill-creator"),
        ("x$my_skill.", f"x${Z}my_skill."),
        ("$$a", f"$${Z}a"),
        ("[$2fa](x)", f"[${Z}2fa](x)"),
        ("$5, $100, $PATH, ${x}, $ x, $", "$5, $100, $PATH, ${x}, $ x, $"),
        ("/help @/etc/hostname", "/help @/etc/hostname"),
    ],
)
def test_codex(prompt: str, inert: str) -> None:
    assert sent("codex", prompt) == inert


@pytest.mark.parametrize(
    ("prompt", "inert"),
    [
        ("/skill:x", f"{Z}/skill:x"),
        (" \n\ufeff/t", f"{Z} \n\ufeff/t"),
        ("a /skill:x @/etc/hostname $y", "a /skill:x @/etc/hostname $y"),
    ],
)
def test_pi(prompt: str, inert: str) -> None:
    assert sent("pi", prompt) == inert


def test_command_gets_the_message_as_it_is() -> None:
    assert sent("command", "/clear @x $y\0") == "/clear @x $y\0"
