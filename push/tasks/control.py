"""The lane `control`: commands that are handled at once, whatever runs. Does not own their words (`push.gateway`).

Sends nothing itself, so that no service holds it up: answers have a lane of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from push import clock
from push.errors import PushError, TemporaryError
from push.gateway.controls import DEFECT, Controls
from push.ledger import turns
from push.locks import FileLock
from push.model.values import Part, Rendered, Turn
from push.seams import seam
from push.tasks import roles
from push.tasks.turns import Gear

#: A message that wants way is looked after this often (milliseconds) until it runs: what it stops takes its time, and
#: another may just have been begun.
WAY_MS = 1000
_TROUBLE_MS = 5000

log = logging.getLogger(__name__)


class Control:
    """Answers the bells of the control lane: a conversation's open commands, in their order."""

    def __init__(
        self,
        gear: Gear,
        ended: Callable[[Turn], None],
        ring: Callable[[int], None],
        later: Callable[[int, int], None],
    ) -> None:
        """`ended` is called after each command, so that its answer is sent; `ring` rings the conversation's turns.

        `later` rings this lane at an instant.
        """
        self._gear = gear
        run_dir = gear.settings.home.run
        self._controls = Controls(gear.db, gear.settings.home.spool, lambda: _poll_loops(run_dir))
        self._ended = ended
        self._ring = ring
        self._later = later
        self._locks = run_dir / "locks"

    def __call__(self, conversation_id: int) -> None:
        """Handle what is open; rows that trouble keeps open are looked at again a little later."""
        wish = None
        try:
            wish = self._drain(conversation_id)
        except (PushError, OSError) as exc:
            reason = exc.message if isinstance(exc, PushError) else exc.strerror or type(exc).__name__
            log.warning("conversation %d: a command is held up: %s", conversation_id, reason)
            self._later(clock.now_ms() + _TROUBLE_MS, conversation_id)
        self._ring(conversation_id)
        if wish is not None:
            self._later(clock.now_ms() + WAY_MS, conversation_id)

    def _drain(self, conversation_id: int) -> int | None:
        """Work, and look again after unlocking: a bell of that moment found the lock taken."""
        wish = None
        while (lock := FileLock.take(self._locks / f"x{conversation_id}.lock")) is not None:
            try:
                wish = self._work(conversation_id)
            finally:
                lock.unlock()
            if not self._is_called(conversation_id, wish):
                break
        return wish

    def _work(self, conversation_id: int) -> int | None:
        """Handle the open commands, and make way; returns the newest message that still wants it."""
        while (turn := turns.control_head(self._gear.db, conversation_id)) is not None:
            text = self._carry_out(turn)
            seam("control.carried_out")
            turns.answer_command(self._gear.db, turn, Rendered((Part(text),)))
            self._ended(turn)
            self._gear.audit.record("command_completed", turn=turn.id, thread=turn.conversation, reply=text)
        return self._controls.make_way(conversation_id)

    def _carry_out(self, turn: Turn) -> str:
        try:
            return self._controls.run(turn)
        except (TemporaryError, OSError):
            raise
        except Exception:  # it will be no different next time, and must not hold up the commands behind it
            log.exception("turn %d: a command could not be carried out", turn.id)
            return DEFECT

    def _is_called(self, conversation_id: int, handled: int | None) -> bool:
        """Whether something came that was not there while we worked."""
        db = self._gear.db
        if turns.control_head(db, conversation_id) is not None:
            return True
        newest = self._controls.newest_wish(conversation_id)
        return newest is not None and newest > (handled or 0)


def _poll_loops(run_dir: Path) -> dict[str, tuple[int, str]]:
    """What the loops of the process that polls last said."""
    found = next((holder.loops for holder in roles.living(run_dir) if holder.role == "poll"), {})
    return {name: said for name, said in found.items() if name != roles.CONFIG}
