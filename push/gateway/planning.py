"""How a turn is run: which agent and session, which instructions, and what the agent is asked.

Owns the choice between resuming and starting afresh, and what is kept in state.json afterwards; does not own
running anything.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from push import assistant, environ
from push.agents.base import Adapter
from push.agents.environment import agent_environment
from push.agents.process import Launch
from push.agents.registry import adapter_for
from push.config.settings import Settings
from push.errors import ConfigError
from push.gateway import prompts
from push.ledger import choices, turns
from push.ledger.database import Database
from push.model.values import Plan, Request, Session, Turn
from push.state import StateCorrupt, StateFile

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that a run needs: the stored plan, the adapter, and the texts for its spool. `text` is the message alone."""

    plan: Plan
    adapter: Adapter
    instructions: str
    prompt: str
    text: str


class Planner:
    """Plans turns from the settings, the assistant's folder, state.json and the ledger."""

    def __init__(self, settings: Settings, db: Database, state: StateFile) -> None:
        self._settings = settings
        self._db = db
        self._state = state

    def prepare(self, turn: Turn) -> Prepared:
        """Decide how to run `turn` now. Raises PushError: configuration, or state.json, is not usable."""
        choice = choices.of(self._db, turn.conversation_id)
        agent = choice.agent or self._settings.agent_for(turn.conversation, turn.channel)
        adapter = self.adapter(agent, choice.model)
        instructions = assistant.compose(self._settings.assistant_root)
        digest = hashlib.sha256(instructions.encode()).hexdigest()
        work_dir = str(self._settings.assistant_root)
        epoch, session = self._state.begin(turn.conversation)
        session_id = session.uuid if session and _fits(session, adapter, work_dir, digest) else None
        text = turns.whole_text(self._db, turn)
        message = prompts.with_context(text, turn.context)
        if turn.interruptions and adapter.resumes:
            message = prompts.after_interruption(message)
        prompt, rehydrated = message, 0
        if session_id is None and (adapter.resumes or self._settings.command_history):
            history = turns.recent_messages(self._db, turn, prompts.MAX_MESSAGES)
            prompt, rehydrated = prompts.with_history(message, history)
        plan = Plan(
            agent=agent,
            session_id=session_id or adapter.new_session_id(),
            is_new=session_id is None,
            epoch=epoch,
            work_dir=work_dir,
            instructions_sha256=digest,
            rehydrated=rehydrated,
        )
        return Prepared(plan, adapter, instructions, prompt, text)

    def adapter(self, agent: str, model: str | None = None) -> Adapter:
        """The adapter of an agent as it is configured, with a model. Raises ConfigError where its program is not."""
        program = self._settings.bin_for(agent) if agent else ()
        if not program:
            raise ConfigError(
                f"no program is set for the agent {agent or '(none)'}",
                why="neither `agent` nor a route names one, or its program is empty",
                hint="push config show",
                code="no_agent",
            )
        return adapter_for(agent, program, model or (self._settings.codex_model if agent == "codex" else None))

    def reader(self, agent: str) -> Adapter:
        """The adapter that reads what a run of `agent` printed, even where its program is no longer configured."""
        return adapter_for(agent, self._settings.bin_for(agent) or (agent,))

    def keep_session(self, turn: Turn, session_id: str | None) -> None:
        """Store the session in which a run happened, unless `/new` came in between.

        A damaged state.json does not cost what the run came to: the ledger holds the session too.
        """
        plan = turn.plan
        if plan is None or session_id is None:
            return
        session = Session(
            uuid=session_id,
            started=True,
            backend=plan.agent,
            epoch=plan.epoch,
            work_dir=plan.work_dir,
            instructions_sha256=plan.instructions_sha256,
            used_on="",
        )
        try:
            self._state.save_session(turn.conversation, session, expected_epoch=plan.epoch)
        except StateCorrupt as exc:
            log.warning("turn %d: its session is not kept: %s", turn.id, exc.message)

    def forget_session(self, turn: Turn) -> None:
        """The backend does not know the session any more: the next run starts afresh."""
        self._state.reset_session(turn.conversation)


def request_for(turn: Turn, plan: Plan, instructions_file: Path, texts: tuple[str, str] = ("", "")) -> Request:
    """The run's request; (instructions, prompt) are only needed to start it, not to read what it printed."""
    return Request(
        session_id=plan.session_id,
        is_new=plan.is_new,
        work_dir=Path(plan.work_dir),
        instructions=texts[0],
        instructions_file=instructions_file,
        prompt=texts[1],
        interrupted=turn.interruptions > 0,
    )


def launch_for(settings: Settings, adapter: Adapter, request: Request, limits: tuple[float, float]) -> Launch:
    """How the runner starts the agent; `limits` are the deadline and the grace after it, in seconds.

    The agent's environment is ours without Push's secrets; `agent_env` names what is passed on purpose.
    """
    base = agent_environment(
        environ.snapshot(), settings.secret_env_names(), settings.secret_values(), settings.agent_env
    )
    deadline_seconds, grace_seconds = limits
    return Launch(
        argv=adapter.argv(request),
        env=base | adapter.environment(request),
        cwd=request.work_dir,
        deadline_seconds=deadline_seconds,
        grace_seconds=grace_seconds,
        output_cap=adapter.output_cap,
        drop_prefix=adapter.drop_prefix,
    )


def _fits(session: Session, adapter: Adapter, work_dir: str, digest: str) -> bool:
    """Whether the stored session is one that this run may resume."""
    return (
        session.uuid is not None
        and adapter.accepts(session.uuid)
        and session.backend == adapter.name
        and session.work_dir in ("", work_dir)
        and (not adapter.reads_instructions_once or session.instructions_sha256 in ("", digest))
    )
