"""The lanes of a home, to ring them: who is told when something is accepted, or ended.

Owns which bell follows what; does not own answering them (`push.app.consumer` serves the lanes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from push.model.values import Accepted, Duplicate, Merged, Turn
from push.paths import Home
from push.providers import local
from push.tasks import deliver, wake
from push.tasks.queue import Lane

#: turns: conversations; control: commands handled at once; answers: what control commands are answered;
#: deliver: everything else that is sent; signs: typing, progress and acknowledgements.
NAMES = ("turns", "control", "answers", "deliver", "signs")


class Bells:
    """One lane of each name. Ringing never fails and never blocks for long; what is lost the sweep rings."""

    def __init__(self, home: Home, handlers: Mapping[str, Callable[[Any], None]] | None = None) -> None:
        """Without `handlers`, only to ring."""
        self._run_dir = home.run
        handlers = handlers or {}
        self.lanes = {name: Lane(name, home.queue_db, home.run, handlers.get(name)) for name in NAMES}

    def accepted(self, channel: str, outcome: Accepted | Duplicate | Merged) -> None:
        """A message of a channel was committed; one that goes ahead of others also wants what runs to be stopped.

        A terminal shows no signs.
        """
        lane = outcome.lane if isinstance(outcome, Accepted) else "turns"
        self.lanes[lane].ring(outcome.conversation_id)
        if isinstance(outcome, Accepted) and outcome.ahead:
            self.lanes["control"].ring(outcome.conversation_id)
        if lane == "turns" and channel != local.CHANNEL:
            self.lanes["signs"].ring(outcome.conversation_id)

    def ended(self, turn: Turn) -> None:
        """A turn ended: its answer is delivered, the signs of its run are taken away."""
        self.deliver(turn.channel, turn.target, deliver.URGENT if turn.lane == "control" else deliver.NORMAL)
        if turn.lane == "turns" and turn.channel != local.CHANNEL:
            self.lanes["signs"].ring(turn.conversation_id)

    def deliver(self, channel: str, target: str, stream: int) -> None:
        """There may be something to send to a target. The terminal delivers its own."""
        if channel == local.CHANNEL:
            wake.ring(self._run_dir, local.desk(target))
        else:
            self.lanes["answers" if stream else "deliver"].ring(deliver.key(channel, target))

    def close(self) -> None:
        """Close the connections to queue.db."""
        for lane in self.lanes.values():
            lane.close()
