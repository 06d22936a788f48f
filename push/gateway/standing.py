"""How things stand, for `/status`: this conversation, the gateway, its channels. Does not own the counting.

A person in one chat learns of others only how many they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from push import clock
from push.gateway.quantities import counted, span
from push.ledger import backlog, conversations, line, pace
from push.ledger.backlog import MOST_FAILED, Backlog
from push.ledger.database import Database
from push.ledger.line import Place

_GOOD = ".good"  # the loop of a channel's last good poll
_LATE_MS = 60_000  # a long poll ends every 25 s


def text(db: Database, conversation_id: int, loops: Mapping[str, tuple[int, str]]) -> str:
    """The whole answer. `loops` maps the poller's loops to (last beat, note)."""
    now = clock.now_ms()
    lines = [_here(line.of(db, conversation_id), now)]
    if conversations.is_paused(db, conversation_id):
        lines.append("This conversation is paused: nothing new is begun until it is resumed on the machine.")
    found = backlog.read(db)
    lines.append(_everywhere(found, line.open_commands(db)))
    lines += _channels(loops, now)
    lines += _pauses(db, now)
    lines += _stuck(found)
    return "\n".join(lines)


def _here(places: list[Place], now: int) -> str:
    if not places:
        return "Here: nothing runs, nothing waits."
    head, waiting = places[0], len(places)
    if head.state == "running":
        waiting -= 1
        runs = f"{head.agent or 'an agent'} has been at work for {span(now - (head.started_at or head.queued_at))}"
    elif head.not_before is not None and head.not_before > now:
        runs = f"nothing runs, the next try is in {span(head.not_before - now)}"
    else:
        runs = "nothing runs yet"
    more = f"{waiting:,}{' or more' if len(places) == line.MOST else ''} waiting"
    return f"Here: {runs}; {more}." if waiting else f"Here: {runs}."


def _everywhere(found: Backlog, commands: int) -> str:
    running = len(found.running)
    waiting = max(sum(found.turns.values()) - found.turns.get("running", 0) - commands, 0)
    answers = sum(found.deliveries.values())
    on_their_way = f", {counted(answers, 'answer')} on the way" if answers else ""
    return f"Gateway: {running:,} running, {waiting:,} waiting{on_their_way}."


def _channels(loops: Mapping[str, tuple[int, str]], now: int) -> Iterator[str]:
    for name, (_, note) in sorted(loops.items()):
        if name.endswith(_GOOD) or name == "poll":
            continue
        good = loops.get(name + _GOOD)
        if good is None:
            yield f"{name}: not read yet; {note}."
        elif now - good[0] > _LATE_MS:
            yield f"{name}: not read for {span(now - good[0])}; {note}."
        else:
            yield f"{name}: last read {span(now - good[0])} ago."


def _pauses(db: Database, now: int) -> Iterator[str]:
    pauses = pace.pauses(db)
    if pauses:
        longest = max(pause.until for pause in pauses)
        yield f"Sending pauses in {counted(len(pauses), 'chat')}, for {span(longest - now)} more."


def _stuck(found: Backlog) -> Iterator[str]:
    answers = sum(found.stuck.values())
    parts = [f"{counted(answers, 'answer')} not delivered"] if answers else []
    if found.failed_turns:
        more = " or more" if found.failed_turns == MOST_FAILED else ""
        parts.append(f"{counted(found.failed_turns, 'message')}{more} failed")
    if found.held.rows:
        parts.append(f"{counted(found.held.rows, 'message or answer', 'messages and answers')} held")
    if parts:
        yield f"{', '.join(parts)}; on the machine: push retries list"
