"""Named seams: the points at which a test kills, pauses or breaks a real process.

`PUSH_SEAMS` holds `name=action` pairs separated by `;`. Actions: `kill` (SIGKILL to this process), `kill@N` (at the
N-th passage), `kill:FILE` (by whoever creates FILE, so once among all processes), `raise:ENOSPC` (an OSError of that
name), `sleep:SECONDS`, `pause:FILE` (touches FILE.reached, then waits until FILE exists). Without the variable a seam
costs one look at a dict. `push.agents.runner`, which imports nothing of push, reads the same variable.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

from push import environ

#: Every seam of the gateway's processes. A test asserts that each is exercised.
SEAMS = frozenset(
    {
        "intake.before_commit",
        "intake.committed",
        "intake.edited",
        "intake.rejected",
        "turn.spooled",
        "turn.running_committed",
        "turn.runner_started",
        "turn.runner_ended",
        "turn.session_saved",
        "turn.before_answer_commit",
        "turn.answer_committed",
        "turn.interrupted_committed",
        "turn.session_forgotten",
        "turn.command_committed",
        "turn.delayed_committed",
        "turn.resumed_committed",
        "turn.postponed_committed",
        "turn.cancelled_committed",
        "turn.cancel_asked",
        "delivery.sending_committed",
        "delivery.part_sent",
        "delivery.part_received",
        "delivery.delivered_committed",
        "delivery.not_sent_committed",
        "delivery.ended_committed",
        "delivery.try_again_committed",
        "delivery.unknown_committed",
        "delivery.hold_committed",
        "control.carried_out",
        "progress.sent",
        "progress.posted",
        "progress.removed",
        "state.before_replace",
        "state.replaced",
        "backup.packed",
        "restore.before_rename",
        "restore.renamed",
    }
)

#: Those of the runner, which has no `raise` and passes each once. The second one lies in the agent's process.
RUNNER_SEAMS = (
    "runner.before_gate",
    "runner.agent_recorded",
    "runner.agent_started",
    "runner.agent_ended",
    "runner.before_rename",
    "runner.renamed",
)

_passages: dict[str, int] = {}


def _parse(text: str) -> dict[str, str]:
    return dict(item.split("=", 1) for item in text.split(";") if "=" in item)


_armed = _parse(environ.get("PUSH_SEAMS") or "")


def seam(name: str) -> None:
    """Do here what the test asked for at seam `name`; nothing otherwise."""
    action = _armed.get(name)
    if action is not None:
        _act(name, action)


def _act(name: str, action: str) -> None:
    verb, _, argument = action.partition(":")
    verb, _, nth = verb.partition("@")
    _passages[name] = _passages.get(name, 0) + 1
    if nth and _passages[name] != int(nth):
        return
    if verb == "kill":
        if not argument or _is_first(argument):
            os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "raise":
        number = getattr(errno, argument)
        raise OSError(number, os.strerror(number))
    elif verb == "sleep":
        time.sleep(float(argument))
    elif verb == "pause":
        Path(f"{argument}.reached").touch()
        while not Path(argument).exists():
            time.sleep(0.01)
    else:
        raise ValueError(f"PUSH_SEAMS: unknown action {action!r}")


def _is_first(file: str) -> bool:
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    return True
