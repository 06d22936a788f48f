"""`push status`: what runs, what waits, what needs a person. Fast, and readable whatever is broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from push import clock
from push.cli import output, records
from push.cli.options import config_option, json_option, settings_or_default, wants_json
from push.errors import EXIT_INTERRUPTED, EXIT_OK, ConfigError

if TYPE_CHECKING:
    from push.config.settings import Settings
    from push.ledger.backlog import Backlog
    from push.report.kept import Kept
    from push.report.snapshot import Snapshot
    from push.tasks.roles import Holder

_STATES = ("queued", "running", "waiting", "interrupted")
_MOST_TARGETS = 5
_WIDEST = 60  # characters; a longer sentence does not push the others' commands to the right


@click.command()
@click.option(
    "--watch",
    "seconds",
    type=click.FloatRange(min=0.2, max=86_400),
    is_flag=False,
    flag_value=2.0,
    metavar="[SECONDS]",
    help="Show it again and again (every 2 seconds), until Ctrl-C.",
)
@config_option
@json_option
@click.pass_context
def status(ctx: click.Context, seconds: float | None) -> int:
    """Show what runs, what waits, and what needs you, with the next command."""
    wrong = None
    try:
        settings = settings_or_default(ctx)
    except ConfigError as exc:  # what runs goes on with its last good settings, and is to be seen
        from push.config import without_file

        if seconds is not None:
            raise
        settings, wrong = without_file(), exc
    if seconds is not None:
        return _watch(settings, seconds, as_json=wants_json(ctx))
    taken = _take(settings)
    if wants_json(ctx):
        from push.report import shape

        output.emit_json(shape.as_json(taken))
    else:
        output.emit("\n".join(screen(taken)))
    if wrong is not None:
        raise wrong
    return taken.trouble.exit_code if taken.trouble is not None else EXIT_OK


def _take(settings: Settings) -> Snapshot:
    from push.report import snapshot

    # a gateway wants a configuration; `push chat` does without, and answers what waits
    return snapshot.take(settings.home, "push run" if settings.path else "push chat", settings)


def _watch(settings: Settings, seconds: float, *, as_json: bool) -> int:
    """Until Ctrl-C. Off a terminal, a whole screen each time; a change of the terminal's size is followed at once."""
    with suppress(KeyboardInterrupt), output.Picture() as picture:
        while True:
            taken = _take(settings)
            if as_json:
                from push.report import shape

                output.emit_json_line(shape.as_json(taken))
            elif sys.stdout.isatty():
                picture.show([*"\n".join(screen(taken)).split("\n"), "", f"{_time(taken.at)}; Ctrl-C ends"])
            else:
                output.emit("\n".join([_time(taken.at), *screen(taken), ""]))
            picture.wait(seconds)
    return EXIT_INTERRUPTED


def _time(at: int) -> str:
    return f"{clock.from_ms(at).astimezone():%H:%M:%S}"


def screen(taken: Snapshot) -> Iterator[str]:
    """The lines for a person."""
    yield f"Push in {taken.home}"
    yield from _section("Processes", list(_processes(taken)) or [f"none; start one with: {taken.start}"])
    yield from _section("Channels", list(_channels(taken)))
    yield from _section("Running", list(_running(taken)))
    if taken.backlog is not None:
        yield from _section("Messages", list(_messages(taken.backlog, taken)))
        yield from _section("Answers", list(_answers(taken.backlog, taken.at)))
    elif taken.trouble is None:
        yield from _section("Messages", ["none yet; say something with: push chat"])
    yield from _section("Disk", list(_disk(taken)))
    yield from _section("Kept", list(_kept(taken.kept)) if taken.kept else [])
    if taken.attention:
        width = max((len(note.what) for note in taken.attention if len(note.what) <= _WIDEST), default=0)
        notes = [f"{note.what.ljust(width)}  {note.command}" for note in taken.attention]
        yield from _section("Needs attention", notes)
    elif taken.holders:
        yield "\nAll is well."


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
        yield from (f"  {line}" for line in lines)


def _processes(taken: Snapshot) -> Iterator[str]:
    from push.report.channels import is_of_channel

    by_pid: dict[int, list[Holder]] = {}
    for holder in taken.holders:
        by_pid.setdefault(holder.pid, []).append(holder)
    for pid, holders in by_pid.items():
        first = holders[0]
        age = records.span((taken.at - first.started_at) / 1000)
        yield f"{first.command}, process {pid}, for {age}: {', '.join(holder.role for holder in holders)}"
        for holder in holders:
            for name, (beat, note) in holder.loops.items():
                if is_of_channel(holder, name):
                    continue
                yield f"  {name}: {note} ({records.ago(beat, taken.at)})"


def _channels(taken: Snapshot) -> Iterator[str]:
    for channel in taken.channels:
        good = records.ago(channel.good_at, taken.at) or "none yet"
        yield f"{channel.name}: {channel.note}; last good poll: {good}"
        if channel.deaf_since is not None:
            yield f"  deaf since {clock.iso(channel.deaf_since)}"
    for pause in taken.backlog.pauses if taken.backlog is not None else ():
        yield records.paused(pause, taken.at)


def _running(taken: Snapshot) -> Iterator[str]:
    for run in taken.running:
        turn = run.turn
        age = records.span((taken.at - turn.started_at) / 1000)
        process = f"process {run.pid}" if run.pid else "no process lives; a gateway will see to it"
        yield f"t{turn.id}  {turn.conversation}  {turn.agent or 'command'}  for {age}, run {turn.attempt}, {process}"


def _messages(backlog: Backlog, taken: Snapshot) -> Iterator[str]:
    counts = [f"{backlog.turns[state]} {state}" for state in _STATES if backlog.turns.get(state)]
    oldest = records.ago(backlog.oldest_turn, taken.at)
    yield f"{', '.join(counts)}; the oldest came {oldest}" if counts else "none open"
    for row in taken.postponed:
        yield f"t{row.number}  {row.conversation}  postponed ({row.reason}), next try {_next(row.not_before, taken.at)}"
    if backlog.postponed > len(taken.postponed):
        yield f"and {backlog.postponed - len(taken.postponed)} more postponed"
    if backlog.held.turns:
        yield f"{backlog.held.turns} held since this copy was restored"
    for paused in backlog.paused[:_MOST_TARGETS]:
        yield f"{paused.conversation}  paused {records.ago(paused.since, taken.at)}, {paused.waiting} waiting"
    if backlog.rejected:
        yield f"{backlog.rejected} that could not be stored"


def _next(at: int | None, now: int) -> str:
    return "now" if at is None or at <= now else str(records.ago(at, now))


def _answers(backlog: Backlog, now: int) -> Iterator[str]:
    counts = [f"{count} {state}" for state, count in (*backlog.deliveries.items(), *backlog.stuck.items())]
    counts += [f"{backlog.held.deliveries} held"] if backlog.held.deliveries else []
    counts += [f"{backlog.repeated} possibly delivered twice"] if backlog.repeated else []
    oldest = records.ago(backlog.oldest_delivery, now)
    yield (
        ", ".join(counts) + (f"; the oldest on its way was written {oldest}" if oldest else "") if counts else "all out"
    )
    for channel, target, count in backlog.waiting_for[:_MOST_TARGETS]:
        yield f"{count} for {channel} {target}"
    if len(backlog.waiting_for) > _MOST_TARGETS:
        yield "and others"


def _disk(taken: Snapshot) -> Iterator[str]:
    if taken.files:
        yield ", ".join(f"{name} {records.size(size)}" for name, size in taken.files.items())
    if taken.leftover:
        yield f"{taken.leftover} finished runs in the spool"
    if taken.free is not None:
        yield f"{records.size(taken.free)} free"


def _kept(kept: Kept) -> Iterator[str]:
    """What of the past is there, and how long it is kept."""
    limits, texts = kept.limits, kept.texts
    if texts is not None and (texts.messages or texts.erased):
        erased = f"; those of {texts.erased:,} erased, last {_day(texts.erased_at)}" if texts.erased else ""
        many = "message" if texts.messages == 1 else "messages"
        yield f"texts of {texts.messages:,} {many}{_since(texts.since)} ({_limit(limits.history)}){erased}"
    logs = (("audit", kept.audit_since, limits.audit), ("logs", kept.logs_since, limits.logs))
    parts = [f"{name}{_since(at)} ({_limit(limit)})" for name, at, limit in logs if at is not None]
    if parts:
        yield ", ".join(parts)


def _since(at: int | None) -> str:
    return f" since {_day(at)}" if at is not None else ""


def _day(at: int | None) -> str:
    return (clock.iso(at) or "")[:10]


def _limit(seconds: float | None) -> str:
    return "for ever" if seconds is None else records.span(seconds)
