"""audit.jsonl: what the gateway did, one JSON object a line.

Owns what of an event may be written; does not own which events there are, nor the file (`push.appendlog`).

Message text is written as its length, unless the owner asked for content (`audit_log_content`); a configured secret
is never written. A field that this page does not name as plain counts as message text, so that a new field leaks
nothing until somebody decided that it may be shown.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from push import appendlog, clock
from push.appendlog import AppendFile
from push.errors import TemporaryError
from push.redaction import Redaction

MAX_LINE = 64 * 1024  # bytes
_LIMITS = (8_000, 1_000, 100)  # characters of one text, each tried until the line fits

#: Fields whose texts are written as they are: names, ids, codes, states and fixed sentences; never what somebody said,
#: and never the text of an exception, which may quote it.
PLAIN = frozenset(
    {
        *("actor", "agent", "backend", "channel", "chat_identifier", "code", "conversation", "cursor_owner"),
        *("database", "delivery", "ending", "event_id", "from_state", "handle", "hint", "host", "job", "kind", "lane"),
        *("machine", "model", "name", "next_attempt_at", "outcome", "path", "program", "provider", "reason"),
        *("receipt", "role", "run", "run_id", "sender", "session_id", "signal", "state", "target", "thread"),
        *("to_state", "trigger", "version", "work_dir"),
    }
)

_log = logging.getLogger(__name__)


class Audit:
    """Appends records to `path`. Safe for several threads, and for several processes at once.

    A record that cannot be written (a full disk) stops nobody: it is counted in `lost`, for the status of this process,
    and logged once per outage; the first record that fits again is preceded by one, `audit_gap`, that says how many are
    missing.
    """

    def __init__(
        self,
        path: Path,
        content: bool,  # noqa: FBT001  the owner's setting
        secrets: Iterable[str] = (),
        *,
        max_bytes: int = appendlog.MAX_BYTES,
        keep: int = appendlog.KEEP,
    ) -> None:
        self.lost = 0
        self._gap = 0
        self._content = content
        self._redaction = Redaction(secrets)
        self._file = AppendFile(path, max_bytes=max_bytes, keep=keep)

    def record(self, event: str, **fields: object) -> None:
        """Write one event. A field that is None is left out. Never raises for what the disk says."""
        try:
            if self._gap:
                self._file.write(self._line("audit_gap", {"records": self._gap}))
                self._gap = 0
            self._file.write(self._line(event, fields))
        except (OSError, TemporaryError) as exc:
            if not self._gap:
                _log.error("cannot write %s: %s; records are being lost", self._file.path, exc)
            self._gap += 1
            self.lost += 1

    def close(self) -> None:
        """Close the file; a later record opens it again."""
        self._file.close()

    def _line(self, event: str, fields: Mapping[str, object]) -> str:
        head: dict[str, object] = {"ts_ms": clock.now_ms(), "event": event}
        for limit in _LIMITS:
            line = _encode(
                head | {key: self._shown(key, item, limit) for key, item in fields.items() if item is not None}
            )
            if len(line) < MAX_LINE:
                return line
        return _encode(head | {"omitted": "the fields are too long"})

    def _shown(self, key: str, value: object, limit: int) -> object:
        """What may be written of a field's value."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {
                self._redaction.text(str(name)): self._shown(str(name), item, limit) for name, item in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            return [self._shown(key, item, limit) for item in value]
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        shown = self._redaction.text(text)[:limit]  # first replaced, then cut: half a secret would not be recognised
        if key in PLAIN:
            return shown
        return {"chars": len(text), "text": shown} if self._content else {"chars": len(text)}


def _encode(record: Mapping[str, object]) -> str:
    """One line of ASCII: everything else, and every control character, is escaped."""
    return json.dumps(record, separators=(",", ":"))


def instant(line: str) -> int | None:
    """When a record was written (milliseconds since 1970); None for a line that is none."""
    try:
        return int(json.loads(line)["ts_ms"])
    except (ValueError, TypeError, KeyError):
        return None
