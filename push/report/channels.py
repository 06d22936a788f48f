"""How each channel that is polled is doing: what its loop says, when it last answered, since when it is deaf.

Owns reading it out of the poller's role; does not own polling (`push.app.poller`). Instants are milliseconds since
1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from push.tasks.roles import CONFIG, DEAF_SECONDS, Holder

_POLL = "poll"
_GOOD = ".good"  # the loop of a channel's last good poll, behind the channel's name


@dataclass(frozen=True, slots=True)
class ChannelState:
    """One channel. `note` is what its loop said at `note_at`; `good_at` is None where no poll was good yet.

    `deaf_since` is its last good poll, or the poller's start, where that is minutes ago.
    """

    name: str
    note: str
    note_at: int
    good_at: int | None
    deaf_since: int | None

    @property
    def is_read(self) -> bool:
        """Whether its last poll was a good one: a loop that has trouble says so after it."""
        return self.good_at is not None and self.good_at >= self.note_at


def of(holders: Sequence[Holder], at: int) -> Iterator[ChannelState]:
    """The channels that a living poller reads, as of `at`."""
    for holder in holders:
        if holder.role != _POLL:
            continue
        for name, (note_at, note) in holder.loops.items():
            if name in {_POLL, CONFIG} or name.endswith(_GOOD):
                continue
            good_at = holder.loops[name + _GOOD][0] if name + _GOOD in holder.loops else None
            heard_at = holder.started_at if good_at is None else good_at
            is_deaf = at - heard_at >= DEAF_SECONDS * 1000
            yield ChannelState(name, note, note_at, good_at, heard_at if is_deaf else None)


def is_of_channel(holder: Holder, loop: str) -> bool:
    """Whether a loop of the role is shown with the channels."""
    return holder.role == _POLL and loop not in {_POLL, CONFIG}
