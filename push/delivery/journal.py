"""How far a send came, as whoever sends last wrote into the file of the lock that he holds.

A sender that is killed leaves its row `sending`, and the ledger alone cannot tell whether the request ever left, nor
what was answered: most kills meet the commits around a send, and few the send itself. What is written here survives
the process, though not the machine, so that it is believed within one boot; a receipt is believed always. Owns what
the file proves; does not own outcomes (`push.delivery.sending`).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from push.agents import tree
from push.locks import FileLock
from push.model.values import Delivered, NotSent, SendOutcome, Unknown

_MOST_BYTES = 4096
_USUAL_BYTES = 256
_CLAIMED, _HANDED, _RECEIVED = "claimed", "handed", "received"

#: Why an outcome is as it is, after a kill.
SENDER_DIED = "sender_died"


class Journal:
    """Written around each part that leaves, read by the next holder of the lock. Without one it proves nothing."""

    def __init__(self, lock: FileLock | None) -> None:
        self._lock = lock

    def claimed(self, row: int) -> None:
        """Nothing of row `row` has left since now. Raises OSError: then nothing may leave."""
        self._write(row, -1, _CLAIMED)

    def handed(self, row: int, part: int) -> None:
        """From here on part `part` may have left. Raises OSError: then it may not."""
        self._write(row, part, _HANDED)

    def received(self, row: int, part: int, receipt: str) -> None:
        """The service took it. A full disk leaves that unsaid, and costs no more than doubt."""
        with suppress(OSError):
            self._write(row, part, _RECEIVED, receipt)

    def proof(self, row: int, part: int) -> SendOutcome:
        """What became of part `part`, the first of row `row` that has no checkpoint, when its sender was killed."""
        said = self._read()
        if said is None or said["row"] != row:
            return Unknown(SENDER_DIED)
        if said["step"] == _RECEIVED and said["part"] == part:
            return Delivered(said["receipt"])
        if said["boot"] != tree.system().boot() or said["boot"] == tree.NO_BOOT:
            return Unknown(SENDER_DIED)
        left = said["step"] == _HANDED and said["part"] == part
        return Unknown(SENDER_DIED) if left else NotSent(SENDER_DIED, 0.0)

    def _write(self, row: int, part: int, step: str, receipt: str = "") -> None:
        if self._lock is None:
            return
        said = {"row": row, "part": part, "step": step, "receipt": receipt, "boot": tree.system().boot()}
        self._lock.write(json.dumps(said).ljust(_USUAL_BYTES))  # of one length, so that a kill leaves no mixture

    def _read(self) -> dict[str, Any] | None:
        if self._lock is None:
            return None
        try:
            said = json.loads(os.pread(self._lock.fd, _MOST_BYTES, 0))
            known = {"row": int, "part": int, "step": str, "receipt": str, "boot": str}
            return said if all(type(said[name]) is kind for name, kind in known.items()) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
