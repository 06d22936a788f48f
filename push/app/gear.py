"""Opening what every process of the gateway works with, and closing it. Does not own any loop."""

from __future__ import annotations

from push import assistant
from push.audit import Audit
from push.config.settings import Settings
from push.ledger.database import Database
from push.state import StateFile
from push.tasks.channels import Channels
from push.tasks.stop import StopFlag
from push.tasks.turns import Gear


def open_gear(settings: Settings) -> Gear:
    """Make the home, open the ledger, the state and the audit. Raises PushError where one of them is not usable.

    The assistant's folder is made where nobody named one; an existing one without SOUL.md is left as it is.
    """
    settings.home.make()
    return gear_of(settings, Database.open(settings.home.push_db))


def gear_of(settings: Settings, db: Database) -> Gear:
    """What works with these settings, on a ledger of this home that is open. Raises PushError likewise."""
    if "assistant_root" not in settings.written and not settings.assistant_root.exists():
        assistant.scaffold_default(settings.assistant_root)
    return Gear(
        settings=settings,
        db=db,
        state=StateFile(settings.home.state),
        audit=Audit(settings.home.audit, content=settings.audit_log_content, secrets=settings.secret_values()),
        stop=StopFlag(hard=settings.shutdown == "stop"),
        channels=Channels(settings),
    )
