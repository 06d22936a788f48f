"""Commands that a person, or a script, copies to the letter."""

from __future__ import annotations

import shlex

from push.report import hints


def test_a_name_is_one_word_for_the_shell() -> None:
    for name in ("local:ann", "local:Ann Smith", "local:a'b; rm -rf ~"):
        assert shlex.split(hints.resume(name)) == ["push", "conversations", "resume", name]
