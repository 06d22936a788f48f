"""The turns lane: work a conversation's open rows in order, each through the steps of a run.

Owns the order of steps and which crash leads where; does not own what each step knows (`push.gateway`,
`push.agents`, `push.ledger`).
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from push.agents import process
from push.agents import spool as spooling
from push.agents.process import Recovered
from push.agents.spool import Spool
from push.audit import Audit
from push.config.settings import Settings
from push.errors import PushError, TemporaryError, UsageError
from push.gateway import ordered, replies
from push.gateway.planning import Planner, Prepared, launch_for, request_for
from push.ledger import turns
from push.ledger.database import Database
from push.ledger.moves import StaleRow
from push.ledger.turns import Failure, Reply
from push.model.machines import Actor
from push.model.values import (
    AgentFailed,
    AgentOutcome,
    Answered,
    ComeBackLater,
    Exited,
    Part,
    Rendered,
    SessionMissing,
    Turn,
)
from push.providers import registry
from push.seams import seam
from push.state import StateFile
from push.tasks.channels import Channels
from push.tasks.stop import StopFlag

GRACE_SECONDS = 5.0
MAX_DELAYS = 10
_POSTPONE_SECONDS = 30.0
_RUNNER_DIED_SECONDS = 1.0
_MAX_INTERRUPTIONS = 1

log = logging.getLogger(__name__)


class Step(Enum):
    """What working on a turn came to."""

    ENDED = "ended"  # go on with the conversation's next
    AGAIN = "again"  # the same turn, in another state
    LATER = "later"  # postponed
    HANDED_OVER = "handed_over"  # we stop; its runner goes on


@dataclass(frozen=True, slots=True)
class Gear:
    """What a worker works with."""

    settings: Settings
    db: Database
    state: StateFile
    audit: Audit
    stop: StopFlag
    channels: Channels


class TurnWorker:
    """Handles one turn at a time, under the conversation's lock, which the caller holds and lends by descriptor."""

    def __init__(self, gear: Gear, announce: Callable[[Turn], None]) -> None:
        """`announce` is called after each turn that ended, so that its reply is delivered."""
        self._gear = gear
        self._announce = announce
        self._settings = gear.settings
        self._db = gear.db
        self._planner = Planner(gear.settings, gear.db, gear.state)
        self._ordered = ordered.Ordered(gear.settings, gear.db, gear.state)
        self._spools = gear.settings.home.spool

    def handle(self, turn: Turn, lock_fd: int) -> Step:
        """Take `turn` one step further. What is broken on our side postpones it; nothing that it meets is lost."""
        try:
            return self._handle(turn, lock_fd)
        except StaleRow:
            return Step.AGAIN  # a person cancelled or edited it in between, or the rest of it came
        except TemporaryError as exc:
            return self._postpone(turn, exc.code)
        except PushError as exc:
            return self._fail_unstarted(turn, exc)
        except OSError as exc:
            log.warning("turn %d: %s", turn.id, exc.strerror)
            return self._postpone(turn, errno.errorcode.get(exc.errno or 0, "os_error").lower())
        except Exception:  # a defect of ours holds up one conversation, and is seen in `push retries list`
            log.exception("turn %d: unexpected", turn.id)
            return self._postpone(turn, "unexpected")

    def _handle(self, turn: Turn, lock_fd: int) -> Step:
        if turn.state == "running":
            return self._recover(turn, lock_fd)
        if turn.state == "waiting":
            turns.resume_waiting(self._db, turn, "worker")
            return Step.AGAIN
        if turn.kind == "command":
            return self._command(turn)
        return self._run(turn, lock_fd)

    def _command(self, turn: Turn) -> Step:
        outcome = self._ordered.run(turn)
        if isinstance(outcome, ordered.Again):
            turns.become_message(self._db, turn, outcome.text, outcome.context)
            return Step.AGAIN
        turns.answer_command(self._db, turn, Rendered((Part(outcome),)))
        return self._ended(turn, "message_completed", reply=outcome)

    # -- a run ---------------------------------------------------------------------------------------------------

    def _run(self, turn: Turn, lock_fd: int) -> Step:
        prepared = self._planner.prepare(turn)
        limit = prepared.adapter.max_prompt
        if limit is not None and len(prepared.prompt) > limit:
            raise UsageError(
                f"a prompt of {len(prepared.prompt)} characters",
                why=f"{prepared.plan.agent} takes {limit}",
                hint="push turns list",
                code="prompt_too_long",
            )
        spool = self._spool(turn.id, turn.attempt + 1, turn, prepared)
        if turn.state == "queued":
            turns.start(self._db, turn, prepared.plan, prepared.text)
        else:
            turns.start_again(self._db, turn, prepared.plan)
        started = turns.get(self._db, turn.id)
        assert started is not None
        if turn.attempt:
            earlier = Spool.at(self._spools, _run_id(turn))
            if process.asked_to_cancel(earlier):  # too late for that run, and meant for the message
                process.cancel(spool)
            _discard(earlier)
        return self._execute(started, prepared, spool, lock_fd)

    def _spool(self, turn_id: int, attempt: int, turn: Turn, prepared: Prepared) -> Spool:
        request = request_for(turn, prepared.plan, Path(), (prepared.instructions, prepared.prompt))
        prompt = prepared.adapter.prompt_bytes(request)
        run_id = f"t{turn_id}-{attempt}"
        spool = spooling.prepare(self._spools, run_id, prompt=prompt, instructions=prepared.instructions)
        seam("turn.spooled")
        return spool

    def _execute(self, turn: Turn, prepared: Prepared, spool: Spool, lock_fd: int) -> Step:
        adapter, plan = prepared.adapter, prepared.plan
        request = request_for(turn, plan, spool.instructions, (prepared.instructions, prepared.prompt))
        launch = launch_for(self._settings, adapter, request, (self._settings.run_timeout, GRACE_SECONDS))
        runner = process.start(spool, launch, lock_fd)
        seam("turn.runner_started")
        self._gear.audit.record(
            "backend_run_started",
            turn=turn.id,
            thread=turn.conversation,
            backend=plan.agent,
            is_new_session=plan.is_new,
            rehydrated_messages=plan.rehydrated,
        )
        if not runner.wait(self._gear.stop.fd):
            if not self._gear.stop.hard:
                runner.leave()
                return Step.HANDED_OVER
            process.terminate(spool)
            runner.wait(None)
        seam("turn.runner_ended")
        return self._recover(turn, lock_fd, by="worker")

    def _recover(self, turn: Turn, lock_fd: int, by: Actor = "recovery") -> Step:
        """Finish a running turn whose runner is gone: harvest what it left, or find out how far it came."""
        spool = Spool.at(self._spools, _run_id(turn))
        found = process.recover(spool)
        if isinstance(found, Exited):
            return self._judge(turn, found, by, lock_fd)
        if found is Recovered.UNKILLABLE:
            return self._postpone(turn, "unkillable")
        if process.asked_to_cancel(spool):
            return self._cancel(turn, by)
        if found is Recovered.KILLED:
            return self._interrupted(turn, by)
        if by == "worker":  # its runner died in front of us before there was an agent: never in a hot loop
            return self._come_back(turn, by, ComeBackLater("runner_died", _RUNNER_DIED_SECONDS), "not_started")
        return self._run(turn, lock_fd)

    # -- its end -------------------------------------------------------------------------------------------------

    def _judge(self, turn: Turn, exited: Exited, by: Actor, lock_fd: int) -> Step:
        outcome = self._read(turn, exited)
        match outcome:
            case Answered(output):
                self._planner.keep_session(turn, output.session_id)
                seam("turn.session_saved")
                text = registry.render(turn.channel, output.reply)
                turns.answer(self._db, turn, Reply(text, output.usage, output.session_id), by)
                return self._ended(turn, "backend_run_completed", reply=output.reply)
            case SessionMissing(reason):
                return self._rotate(turn, reason, by, lock_fd)
            case ComeBackLater():
                return self._come_back(turn, by, outcome, "busy")
            case AgentFailed(code="cancelled"):
                return self._cancel(turn, by)
            case AgentFailed(code="terminated"):
                return self._interrupted(turn, by)
            case AgentFailed():
                return self._fail(turn, by, outcome)

    def _read(self, turn: Turn, exited: Exited) -> AgentOutcome:
        assert turn.plan is not None
        adapter = self._planner.reader(turn.plan.agent)
        instructions = Spool.at(self._spools, _run_id(turn)).instructions
        try:
            return adapter.read(request_for(turn, turn.plan, instructions), exited)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
            log.exception("turn %d: cannot read what %s printed", turn.id, turn.plan.agent)
            return AgentFailed("bad_output", type(exc).__name__)

    def _rotate(self, turn: Turn, reason: str, by: Actor, lock_fd: int) -> Step:
        """One more run in a fresh session, with history; a fresh one that is missing too is a failure."""
        assert turn.plan is not None
        self._gear.audit.record(
            "backend_session_missing", turn=turn.id, thread=turn.conversation, backend=turn.plan.agent, reason=reason
        )
        if turn.plan.is_new:
            return self._fail(turn, by, AgentFailed("session_missing", reason))
        self._planner.forget_session(turn)
        seam("turn.session_forgotten")
        return self._run(turn, lock_fd)

    def _interrupted(self, turn: Turn, by: Actor) -> Step:
        if turn.interruptions >= _MAX_INTERRUPTIONS:
            return self._fail(turn, by, AgentFailed("interrupted", "its runs were killed"))
        assert turn.plan is not None
        spool = Spool.at(self._spools, _run_id(turn))
        adapter = self._planner.reader(turn.plan.agent)
        request = request_for(turn, turn.plan, spool.instructions)
        session_id = adapter.resumable(request, spool.out) if spool.out.exists() else None
        self._planner.keep_session(turn, session_id)
        turns.interrupt(self._db, turn, by, session_id)
        return self._ended(turn, "backend_run_interrupted", step=Step.AGAIN)

    def _come_back(self, turn: Turn, by: Actor, later: ComeBackLater, code: str) -> Step:
        """Nothing ran: once more a little later, but not for ever."""
        if turn.delays >= MAX_DELAYS:
            return self._fail(turn, by, AgentFailed(code, later.reason))
        turns.delay(self._db, turn, later.reason, later.after_seconds)
        return Step.LATER

    def _cancel(self, turn: Turn, by: Actor) -> Step:
        turns.cancel(self._db, turn, by)
        return self._ended(turn, "backend_run_cancelled")

    def _fail(self, turn: Turn, by: Actor, failure: AgentFailed) -> Step:
        self._planner.keep_session(turn, failure.session_id)
        text = replies.failure(failure.code, turn.id)
        reply = Reply(Rendered((Part(text),)), failure.usage, failure.session_id)
        turns.fail(self._db, turn, reply, by, Failure(failure.code, failure.detail))
        return self._ended(turn, "backend_run_failed", reason=failure.code, detail=failure.detail)

    def _fail_unstarted(self, turn: Turn, exc: PushError) -> Step:
        log.warning("turn %d: %s", turn.id, exc.message)
        code = exc.code if exc.code in replies.CODES else "configuration"
        reply = Reply(Rendered((Part(replies.failure(code, turn.id)),)))
        by = "worker"
        turns.fail(self._db, turn, reply, by, Failure(code, f"{exc.message}: {exc.why}" if exc.why else exc.message))
        return self._ended(turn, "backend_setup_failed", reason=code)

    def _postpone(self, turn: Turn, reason: str) -> Step:
        turns.postpone(self._db, turn, reason, _POSTPONE_SECONDS)
        self._gear.audit.record("turn_postponed", turn=turn.id, thread=turn.conversation, reason=reason)
        return Step.LATER

    def _ended(self, turn: Turn, event: str, *, step: Step = Step.ENDED, **fields: object) -> Step:
        """The ledger has it: empty the spool, tell the audit."""
        if step is Step.ENDED:
            self._announce(turn)
        if turn.attempt and step is Step.ENDED:
            _discard(Spool.at(self._spools, _run_id(turn)))
        backend = turn.plan.agent if turn.plan else None
        self._gear.audit.record(event, turn=turn.id, thread=turn.conversation, backend=backend, **fields)
        return step


def _discard(spool: Spool) -> None:
    """Empty the spool of a run that is over; where that cannot be, the sweep tries again."""
    try:
        spooling.remove(spool)
    except OSError as exc:  # what an agent put there, or left running, need not let itself be removed
        log.warning("cannot empty %s: %s", spool.dir, exc.strerror)


def _run_id(turn: Turn) -> str:
    """The name of the turn's newest run: its folder in the spool, and `PUSH_RUN` in the agent's environment."""
    return f"t{turn.id}-{turn.attempt}"
