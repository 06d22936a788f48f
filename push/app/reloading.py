"""Reading the configuration anew, in a process that goes on: its parts are exchanged, its roles and its ledger stay.

Owns what a reload may change, and that the last good settings stay in effect otherwise (ADR 0018); does not own who
asks for it (`push.app.orders`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from threading import Thread

from push import clock, telemetry
from push.app.gear import gear_of
from push.app.generation import Generation, Seats
from push.config.places import MOVABLE
from push.config.settings import Settings
from push.errors import ConfigError, PushError, TemporaryError
from push.tasks.roles import Reading
from push.tasks.turns import Gear

#: What did not end by then, a send that hangs, ends with its old gear while the new one works.
_STOP_SECONDS = 1.0

log = logging.getLogger(__name__)


class Reloading:
    """The parts that work now, and their exchange. Used by the main thread."""

    def __init__(
        self, work: Generation, seats: Seats, reread: Callable[[], Settings], steer: Callable[[Gear], None]
    ) -> None:
        """`reread` reads the configuration; it raises PushError where that is not right.

        `steer` lets a gear be ended by what ends the process; at once, where that is to end already.
        """
        self.work = work
        self._seats = seats
        self._reread = reread
        self._steer = steer
        self._secrets = work.gear.settings.secrets
        self._reading = seats.reading
        self._left: list[Thread] = []
        self._tell("being read")

    def begun(self) -> None:
        """Everything has begun with the settings that the process was started with."""
        self._reading = replace(self._reading, ended=1)
        self._tell("read")

    def prepare(self) -> Generation | PushError:
        """The parts of the configuration as it is now, ready to begin; or why the last good ones stay."""
        self._reading = replace(self._reading, begun=self._reading.begun + 1)
        self._tell("being read anew")
        try:
            settings = self._scrubbed(self._reread())
            self._refuse_moves(settings)
            return self._introduced(gear_of(settings, self.work.gear.db))
        except Exception as exc:  # noqa: BLE001 - whatever it is, what runs goes on
            return self._keep(exc)

    def _introduced(self, gear: Gear) -> Generation:
        """The parts of a gear, which the services know; the old ones work on meanwhile."""
        fresh = None
        try:
            fresh = Generation(gear, self._seats)
            fresh.introduce()
        except BaseException:
            if fresh is not None:
                fresh.discard()
            gear.stop.close()
            raise
        return fresh

    def exchange(self, fresh: Generation) -> PushError | None:
        """Let `fresh` take over; why not, where it could not begin and the old settings do. Raises where neither can.

        Running agents stay with their runners, whatever `shutdown` says: what comes of them is collected by the new
        parts. Threads that do not end soon keep their gear until they do.
        """
        old = self.work
        read_at = clock.now_ms()
        old.stop(_STOP_SECONDS)
        self._left = [thread for thread in self._left if thread.is_alive()]
        self._left.append(old.outlive())
        try:
            self._begin(fresh)
        except Exception as exc:  # noqa: BLE001 - a thread that cannot be started, no descriptor left
            fresh.stop(_STOP_SECONDS)
            self._left.append(fresh.outlive())
            settings = replace(old.gear.settings, secrets=self._secrets)
            self._begin(Generation(gear_of(settings, old.gear.db), self._seats))
            return self._keep(exc)
        self._reading = Reading(self._reading.begun, self._reading.begun, read_at)
        self._tell("read")
        log.info("the configuration was read anew")
        return None

    def outlasted(self, seconds: float) -> bool:
        """At the end: whether the threads of earlier parts have ended, within `seconds`."""
        deadline = clock.monotonic() + seconds
        for thread in self._left:
            thread.join(max(deadline - clock.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._left)

    def _begin(self, work: Generation) -> None:
        self.work = work
        self._steer(work.gear)
        work.answer()
        work.read()

    def _scrubbed(self, settings: Settings) -> Settings:
        """The settings with all secrets that there ever were: what is under way still knows the old ones."""
        old = self.work.gear.settings
        known = {secret.get_secret_value(): secret for secret in (*self._secrets, *settings.secrets)}
        before, self._secrets = self._secrets, tuple(known.values())
        scrubbed = replace(settings, secrets=self._secrets)
        if len(before) != len(self._secrets) or settings.sentry != old.sentry:
            telemetry.configure(scrubbed, self._seats.parts.command.split()[1])
        return scrubbed

    def _refuse_moves(self, settings: Settings) -> None:
        old = self.work.gear.settings
        if settings.home == old.home:
            return
        moved = [key for key, name in MOVABLE.items() if getattr(settings.home, name) != getattr(old.home, name)]
        raise ConfigError(
            f"{settings.path}: {', '.join(moved) or 'PUSH_HOME'} is another one now, and a reload moves no files",
            why=f"what runs keeps its files open: end it, then start it again with `{self._seats.parts.command}`",
            hint="push status",
            code="restart_needed",
        )

    def _keep(self, exc: Exception) -> PushError:
        """Tell, everywhere, why the last good settings stay in effect."""
        if isinstance(exc, PushError):
            refusal = exc
        elif isinstance(exc, OSError):
            refusal = TemporaryError(
                f"{exc.strerror or type(exc).__name__}", why="the system said so", hint="push doctor"
            )
        else:
            log.error("a reload failed", exc_info=exc)
            refusal = PushError(
                f"unexpected {type(exc).__name__}", why="a defect of Push; see its log", hint="push doctor"
            )
        log.error("the settings stay as they were: %s: %s. Next: %s", refusal.message, refusal.why, refusal.hint)
        reading = self._reading
        self._reading = Reading(
            reading.begun, reading.begun, reading.read_at, refusal.message, refusal.why, refusal.hint
        )
        since = clock.iso(reading.read_at)
        self._tell(f"those of {since} stay in effect, {refusal.message}: {refusal.why}. Next: {refusal.hint}")
        return refusal

    def _tell(self, note: str) -> None:
        self._seats.first.tell(self._reading, note)
