"""What a person reads while he waits: what his message's run is doing, and how many messages wait behind it.

Does not own when (`push.tasks.signs`). No word of a message or of an answer stands in them.
"""

from __future__ import annotations

from push.gateway.quantities import counted, span


def progress(agent: str, activity: str | None, milliseconds: int) -> str:
    """What `agent` is doing, and for how long it has been at work."""
    return f"⏳ {agent} is {activity or 'working'} ({span(milliseconds)})"


def waiting(count: int) -> str:
    """That `count` messages wait behind the one that runs."""
    return f"🕒 {counted(count, 'message waits', 'messages wait')} behind the one at work; /stop ends that one."
