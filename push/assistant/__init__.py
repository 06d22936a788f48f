"""The assistant's folder: SOUL.md, context/, jobs/. What an agent is told before each run comes from here."""

from push.assistant.instructions import compose
from push.assistant.scaffold import scaffold_default

__all__ = ["compose", "scaffold_default"]
