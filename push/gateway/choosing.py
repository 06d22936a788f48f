"""Choosing a conversation's agent and its model: `/agent` and `/model`. Does not own using them (`planning.py`)."""

from __future__ import annotations

import shutil

from push.agents.registry import ADAPTERS, adapter_for
from push.config.settings import Settings
from push.ledger import choices
from push.ledger.choices import Choice
from push.ledger.database import Database
from push.model.values import Turn

_DEFAULT = "default"  # goes back to the settings


class Choosing:
    """Carries out the two commands. Each may be carried out twice."""

    def __init__(self, settings: Settings, db: Database) -> None:
        self._settings = settings
        self._db = db

    def agent(self, turn: Turn, name: str) -> str:
        """Choose an agent, or say which there are."""
        name = name.lower()
        choice = choices.of(self._db, turn.conversation_id)
        standard = self._settings.agent_for(turn.conversation, turn.channel)
        if not name:
            return self._agents(choice.agent, standard)
        if name == _DEFAULT:
            choices.choose(self._db, turn.conversation_id, Choice())
            return f"The settings choose this conversation's agent again: {standard or 'none'}."
        if problem := self._unusable(name):
            return f"{problem} Nothing was changed. {self._available()}"
        kept = choice.model if name == (choice.agent or standard) else None  # a model belongs to its agent
        choices.choose(self._db, turn.conversation_id, Choice(name, kept))
        return f"{name} answers here from your next message on. Back to the settings: /agent default"

    def model(self, turn: Turn, name: str) -> str:
        """Choose the model of the present agent, or say which it is. It keeps the agent too: the name is its own."""
        choice = choices.of(self._db, turn.conversation_id)
        agent = choice.agent or self._settings.agent_for(turn.conversation, turn.channel)
        if agent not in ADAPTERS or not adapter_for(agent, (agent,)).takes_model:
            return f"The agent {agent or '(none)'} takes no model from here."
        if not name:
            return self._models(agent, choice.model)
        if name.lower() == _DEFAULT:
            choices.choose(self._db, turn.conversation_id, Choice(choice.agent))
            return f"{agent} chooses its model again, from your next message on."
        choices.choose(self._db, turn.conversation_id, Choice(agent, name))
        return (
            f"{agent} uses the model {name} from your next message on. Whether there is such a one shows then; "
            "back with /model default"
        )

    def _agents(self, chosen: str | None, standard: str) -> str:
        present = f"{chosen}, chosen here" if chosen else f"{standard or 'none'}, as the settings say"
        return (
            f"This conversation's agent: {present}. {self._available()} /agent NAME chooses, "
            "/agent default goes back to the settings."
        )

    def _models(self, agent: str, chosen: str | None) -> str:
        fixed = self._settings.codex_model if agent == "codex" else None
        present = f"{chosen}, chosen here" if chosen else f"{fixed}, as the settings say" if fixed else "its own choice"
        return f"The model of {agent} here: {present}. /model NAME chooses, /model default goes back."

    def _available(self) -> str:
        usable = [name for name in ADAPTERS if not self._unusable(name)]
        return f"Available: {', '.join(usable)}." if usable else "None is available: on the machine, run push doctor."

    def _unusable(self, name: str) -> str:
        """Why an agent cannot be chosen; "" where it can."""
        if name not in ADAPTERS:
            return f"There is no agent {name}."
        program = self._settings.bin_for(name)
        if not program:
            return f"The agent {name} is not set up."
        if shutil.which(program[0]) is None:
            return f"The program of {name} is not found on the machine."
        return ""
