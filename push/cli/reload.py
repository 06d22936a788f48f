"""`push reload`: the configuration takes effect in what runs, without an end.

Owns the words; does not own what a reload does (`push.app.reloading`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from push import clock
from push.cli import ledger, output
from push.cli.options import config_option, json_option, settings, wants_json
from push.errors import ConfigError, Failed, TemporaryError

if TYPE_CHECKING:
    from push.tasks.reload import Answer


@click.command()
@config_option
@json_option
@click.pass_context
def reload(ctx: click.Context) -> None:
    """Let the configuration take effect in every process of this home that runs.

    A wrong one is refused, and asked of nobody. No agent is stopped, no message lost. Exits with 3 where a process
    keeps its old settings, and with 5 where one does not answer within 20 seconds.
    """
    from push.paths import Home
    from push.tasks import reload as asking

    current = settings(ctx)
    ledger.refuse_agents(ctx, "have the configuration read anew")
    with output.Waiting() as waiting:
        folders = dict.fromkeys((current.home.run, Home.at(current.home.root).run))
        answers = asking.ask(folders, lambda: waiting.tick("waiting for the processes of this home"))
    if wants_json(ctx):
        output.emit_json({"items": [_item(answer) for answer in answers]})
    else:
        for answer in answers:
            output.emit(f"process {answer.pid} ({answer.command}): {_sentence(answer)}")
    _judge(answers)


def _sentence(answer: Answer) -> str:
    from push.tasks.reload import Outcome

    match answer.outcome:
        case Outcome.TAKEN:
            return "works with the new settings"
        case Outcome.KEPT:
            assert answer.reading is not None
            return f"keeps the settings of {clock.iso(answer.reading.read_at)}: {answer.reading.refused}"
        case Outcome.UNANSWERED:
            return "did not answer"
        case Outcome.ENDED:
            return "has ended"
        case Outcome.NOT_ASKED:
            return "was not asked: it keeps the settings that it began with"


def _item(answer: Answer) -> dict[str, Any]:
    reading = answer.reading
    return {
        "pid": answer.pid,
        "command": answer.command,
        "roles": list(answer.roles),
        "outcome": answer.outcome.value,
        "read_at": clock.iso(reading.read_at) if reading else None,
        "reason": reading.refused or None if reading else None,
        "why": reading.why or None if reading else None,
        "hint": reading.hint or None if reading else None,
    }


def _judge(answers: list[Answer]) -> None:
    from push.tasks.reload import PATIENCE_SECONDS, Outcome

    for answer in answers:
        if answer.outcome is Outcome.KEPT and (reading := answer.reading):
            message = f"process {answer.pid} keeps its old settings: {reading.refused}"
            raise ConfigError(message, why=reading.why, hint=reading.hint, code="reload_refused")
    for answer in answers:
        if answer.outcome is Outcome.UNANSWERED:
            raise TemporaryError(
                f"process {answer.pid} did not answer within {PATIENCE_SECONDS:.0f} s",
                why="it is stopped, or busy; the wish is kept, and carried out when it can",
                hint="push status",
                code="reload_unanswered",
            )
    if not any(answer.outcome is Outcome.TAKEN for answer in answers):
        raise Failed(
            "nothing runs that could read the configuration anew",
            why="no `push run`, `push poll` or `push consumer` of this home lives; the next one reads it at its start",
            hint="push run",
            code="nothing_runs",
        )
