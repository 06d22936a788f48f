"""Which agents there are: one line each. A new one is a module and a line here.

Owns the names; does not own which of them a conversation uses (`push.config`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from push.agents.base import Adapter
from push.agents.claude import Claude
from push.agents.codex import Codex
from push.agents.command import Command
from push.agents.pi import Pi

#: Name in the configuration -> adapter for a program (its path or name, with first arguments) and a model, if any.
ADAPTERS: Final[dict[str, Callable[[tuple[str, ...], str | None], Adapter]]] = {
    "claude": Claude,
    "codex": Codex,
    "pi": Pi,
    "command": lambda program, _model: Command(program),
}


def adapter_for(name: str, program: tuple[str, ...], model: str | None = None) -> Adapter:
    """The adapter `name` for a program such as `("claude",)`. Raises KeyError for a name that is not registered."""
    return ADAPTERS[name](program, model)
