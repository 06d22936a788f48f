"""The configuration beside what runs: where secrets come from, keys without effect, the assistant's folder.

Does not own whether the file is right (`push config validate`).
"""

from __future__ import annotations

from collections.abc import Iterator

from push import assistant
from push.config import reference
from push.config.settings import Settings
from push.doctor.findings import Finding, fine, of_error, warning
from push.errors import ConfigError
from push.report import reading
from push.tasks import roles

#: Keys and tables of features that are still to come (docs/reference/configuration.md).
_IDLE = frozenset(
    {"poll_interval", "reply_marker", "drafts_dir", "sessions_dir", "jobs_agent", "jobs_max_timeout"}
    | {"jobs_max_workers", "telegram.base_file_url"}
)
_IDLE_TABLES = ("primary_delivery", "imessage", "voice", "reply", "vault")


def look(settings: Settings) -> Iterator[Finding]:
    """Nothing is said where there is nothing to say."""
    secrets = [
        f"{item.key} ({item.source})" for item in reference.effective(settings) if item.value == reference.HIDDEN
    ]
    if secrets:
        yield fine("config", f"secrets: {', '.join(secrets)}")
    idle = sorted(key for key in settings.written if key in _IDLE or key.partition(".")[0] in _IDLE_TABLES)
    if idle:
        yield fine("config", f"without effect in this version: {', '.join(idle)}")
    for what, command in reading.differences(settings.path, roles.living(settings.home.run)):
        yield warning("config", "not_in_effect", what.rstrip("."), command)


def soul(settings: Settings) -> Iterator[Finding]:
    """The instructions of every run."""
    root = settings.assistant_root
    if "assistant_root" not in settings.written and not root.exists():
        yield fine("assistant", f"{root}: made at the first `push chat`")
        return
    try:
        text = assistant.compose(root)
    except ConfigError as exc:
        yield of_error("assistant", exc, "push init")
    else:
        yield fine("assistant", f"{root}: instructions of {len(text)} characters")
