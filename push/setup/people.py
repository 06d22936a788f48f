"""Who may write: asked of file and ledger together, and letting somebody in.

Does not own the list (`push.ledger.allowlist`), nor how a channel uses it (`push.providers`).
"""

from __future__ import annotations

from push.audit import Audit
from push.config.settings import Settings
from push.ledger import allowlist
from push.ledger.database import Database


def allowed(settings: Settings, channel: str = "telegram") -> list[str]:
    """Everybody who may write on `channel`, for a person: ids, with the note of who it is."""
    configured = sorted(settings.telegram.allow_user_ids | settings.telegram.allow_chat_ids)
    db = Database.open_existing(settings.home.push_db)
    if db is None:
        return [str(number) for number in configured]
    try:
        entries = allowlist.entries(db, channel)
    finally:
        db.close()
    named = [f"{entry.note} ({entry.id})" if entry.note else entry.id for entry in entries]
    return [*(str(number) for number in configured), *named]


def let_in(settings: Settings, entry: tuple[str, str, str], note: str | None) -> bool:
    """Let (channel, `user` or `chat`, id) write from now on; False where it might already."""
    channel, kind, identity = entry
    settings.home.make()
    db = Database.open(settings.home.push_db)
    try:
        added = allowlist.add(db, channel, kind, identity, note)
    finally:
        db.close()
    record(settings, "added", entry)
    return added


def record(settings: Settings, outcome: str, entry: tuple[str, str, str]) -> None:
    """Note in the audit that the owner changed the list."""
    channel, kind, identity = entry
    audit = Audit(settings.home.audit, content=settings.audit_log_content, secrets=settings.secret_values())
    audit.record("allowlist_changed", outcome=outcome, channel=channel, kind=kind, target=identity, actor="operator")
    audit.close()
