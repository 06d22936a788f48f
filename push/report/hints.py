"""Commands that more than one view names. Imports nothing, for `push status`; reasons have theirs in `advice`."""

from __future__ import annotations

import shlex


def resume(conversation: str) -> str:
    """The command that lets a paused conversation go on."""
    return f"push conversations resume {shlex.quote(conversation)}"
