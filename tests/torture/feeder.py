"""A channel's poller for the torture run: commits every message, in order within a conversation, and rings.

It knows nothing of an earlier one that was killed, and begins anew: what was accepted before is a duplicate.
"""

from __future__ import annotations

import random
import sys
import time

from push import clock
from push.app.gear import open_gear
from push.config.load import load
from push.gateway import intake
from push.model.values import Inbound
from push.providers import local
from push.tasks.bells import Bells


def moments(seed: int, conversations: int, messages: int, spread: float) -> list[tuple[float, int]]:
    """When (seconds after the start) which conversation gets its next message, in order."""
    chance = random.Random(seed)
    if not spread:
        order = [number for number in range(conversations) for _ in range(messages)]
        chance.shuffle(order)
        return [(0.0, number) for number in order]
    starts = [number * spread / 10 for number in range(conversations) for _ in range(messages)]
    return sorted((start + chance.uniform(0, spread), index // messages) for index, start in enumerate(starts))


def main(seed: int, conversations: int, messages: int, spread: float) -> None:
    """Feed `messages` to each of `conversations`."""
    gear = open_gear(load())
    bells = Bells(gear.settings.home)
    count = [0] * conversations
    began = clock.monotonic()
    for moment, number in moments(seed, conversations, messages, spread):
        time.sleep(max(0.0, began + moment - clock.monotonic()))
        user = f"c{number}"
        message = Inbound(
            channel=local.CHANNEL,
            conversation=local.conversation(user),
            target=user,
            event_id=f"{user}:{count[number]}",
            sender=user,
            text=f"{user} {count[number]}",
            received_ms=clock.now_ms(),
        )
        count[number] += 1
        bells.accepted(local.CHANNEL, intake.accept(gear.db, gear.audit, message))
    bells.close()
    gear.db.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
