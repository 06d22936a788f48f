"""The lane `signs`: typing, progress messages, acknowledgements of what waits. Best effort, holds nothing up."""

from __future__ import annotations

from collections.abc import Callable

from push.tasks.turns import Gear


class Signs:
    """Answers the bells of the signs lane: a conversation each. `later` rings one again at an instant."""

    def __init__(self, gear: Gear, later: Callable[[int, int], None]) -> None:
        self._gear = gear
        self._later = later

    def __call__(self, conversation_id: int) -> None:
        """Look at the conversation and show what is due."""
