"""How the running processes stand to the configuration on disk: newer ones that are not in effect need a person.

Owns comparing; does not own reading anew (`push.app.reloading`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from push.tasks.roles import CONFIG, Holder


def differences(path: Path | None, holders: Sequence[Holder]) -> Iterator[tuple[str, str]]:
    """(What differs, the command to begin with), one for each process whose settings are not those of `path`."""
    changed_at = _changed_at(path)
    for holder in holders:
        if CONFIG not in holder.loops:
            continue
        who = f"process {holder.pid}"
        if changed_at is not None and changed_at > holder.loops[CONFIG][0]:
            yield f"The configuration has changed since {who} read it.", "push reload"
        elif holder.reading is not None and holder.reading.refused:
            yield f"The configuration is not in effect in {who}: {holder.reading.refused}.", holder.reading.hint


def _changed_at(path: Path | None) -> int | None:
    try:
        return int(path.stat().st_mtime * 1000) if path is not None else None
    except OSError:
        return None
