"""`push run`, `push poll` and `push consumer` in the foreground: from the start to a bounded stop.

Owns what they say and the order of their life; does not own signals (`push.app.orders`) nor a reload
(`push.app.reloading`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial

from push import assistant
from push.agents import process
from push.agents.spool import Spool
from push.app.consumer import GRACEFUL_SECONDS, Consumer, leave
from push.app.gear import open_gear
from push.app.generation import Generation, Parts, Seats
from push.app.orders import Order, Orders
from push.app.pollers import Pollers
from push.app.reloading import Reloading
from push.config.settings import Settings
from push.errors import ConfigError, PushError
from push.ledger import allowlist, backlog, turns
from push.tasks import roles
from push.tasks.turns import Gear


def serve(
    settings: Settings, parts: Parts, orders: Orders, reread: Callable[[], Settings], say: Callable[[str], None]
) -> bool:
    """Run until it is ended; `say` gets a line when all runs, after a reload, and at the end.

    Returns whether all ended in time. Raises ConflictError where a role is taken, ConfigError where a channel cannot be
    used, and PushError where the home is not usable.
    """
    gear = open_gear(settings)
    seats: Seats | None = None
    work: Generation | None = None
    reloading: Reloading | None = None
    try:
        orders.listen(settings.home.run)
        seats = Seats(settings.home.run, parts)
        steer = partial(_steer, orders)
        steer(gear)
        work = Generation(gear, seats)
        reloading = Reloading(work, seats, reread, steer)
        work.answer()
        work.introduce()
        work.read()
        reloading.begun()
        _announce(gear, parts, say)
        while orders.wait() is Order.RELOAD:
            if _reload(reloading, orders):
                _announce(reloading.work.gear, parts, say)
        ended = reloading.work.stop()
        ended = reloading.outlasted(GRACEFUL_SECONDS) and ended
        say(_farewell(reloading.work.gear))
        return ended
    finally:
        if reloading is not None:
            work = reloading.work
        if work is not None:
            work.stop()
            work.discard()
        if seats is not None:
            seats.close()
        gear.db.close()
        orders.close()


def _reload(reloading: Reloading, orders: Orders) -> bool:
    """Exchange the parts, if the configuration is right and the process is not to end; whether that was done."""
    fresh = reloading.prepare()
    if isinstance(fresh, PushError):
        return False
    if not orders.spare():
        fresh.discard()
        return False
    return reloading.exchange(fresh) is None


def _steer(orders: Orders, gear: Gear) -> None:
    orders.steer(gear.stop, lambda: terminate_running(gear))


def poll_once(settings: Settings, command: str) -> None:
    """`push poll --once`: store what the channels hold now, then end. Raises PushError where one cannot be read."""
    gear = open_gear(settings)
    role = None
    try:
        role = roles.take(settings.home.run, "poll", command)
        pollers = Pollers(gear, role)
        try:
            pollers.read_once()
        finally:
            pollers.stop()
    finally:
        if role is not None:
            role.close()
        gear.channels.close()
        gear.db.close()


def drain(settings: Settings, command: str) -> None:
    """`push consumer --drain`: work until nothing is open and due, then end."""
    orders = Orders()
    gear = open_gear(settings)
    _steer(orders, gear)
    gear.channels.connect()
    role = roles.take_consumer(settings.home.run, command)
    consumer = Consumer(gear, role)
    consumer.start()
    while not consumer.is_idle() and not gear.stop.wait(0.05):
        pass
    consumer.stop()
    leave(role, settings.home.run)
    gear.channels.close()
    gear.db.close()


def _announce(gear: Gear, parts: Parts, say: Callable[[str], None]) -> None:
    say(_summary(gear.settings, parts))
    for warning in _warnings(gear, parts):
        say(warning)


def _summary(settings: Settings, parts: Parts) -> str:
    what = " and ".join(word for word, wanted in (("polling", parts.poll), ("consuming", parts.consume)) if wanted)
    return f"Push is {what}. Home: {settings.home.root}. Agent: {settings.agent or 'none'}. Stop with Ctrl-C."


def _warnings(gear: Gear, parts: Parts) -> list[str]:
    """What will fail at the first message and can be said now."""
    settings, found = gear.settings, []
    program = settings.bin_for(settings.agent)[:1] if parts.consume and settings.agent else ()
    if program and shutil.which(program[0]) is None:
        found.append(f"Warning: the agent's program {program[0]} is not found. Next: push doctor")
    if parts.consume and settings.agent:
        try:
            assistant.compose(settings.assistant_root)
        except ConfigError as exc:
            found.append(f"Warning: {exc.message}. Next: push doctor")
    listed = settings.telegram.allow_user_ids | settings.telegram.allow_chat_ids
    if parts.poll and "telegram" in settings.channels and not listed and not allowlist.entries(gear.db, "telegram"):
        found.append("Warning: nobody may write to the bot yet. Next: write to it, then: push allow list")
    return found


def _farewell(gear: Gear) -> str:
    left = backlog.read(gear.db).turns.get("running", 0)
    if not left:
        return "Stopped."
    agents = "1 agent works on by itself" if left == 1 else f"{left} agents work on by themselves"
    return f"Stopped. {agents}; what comes of it is collected at the next start."


def terminate_running(gear: Gear) -> None:
    """Stop every agent that runs in this home; what it was doing is resumed, once, at the next start."""
    for conversation_id, _ in turns.open_conversations(gear.db):
        turn = turns.head(gear.db, conversation_id)
        if turn is not None and turn.state == "running":
            process.terminate(Spool.at(gear.settings.home.spool, f"t{turn.id}-{turn.attempt}"))
    gear.db.close_thread()
