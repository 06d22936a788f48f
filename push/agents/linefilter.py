"""Lines of an agent's output that nobody needs, taken out while they are printed.

Does not own where the rest goes (`runner.py`, which imports this only where an agent needs it).
"""


class LineFilter:
    """Passes lines on, without those that begin with `prefix`. Holds at most the prefix's length."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._head = b""
        self._keep: bool | None = None  # None: at the beginning of a line

    def feed(self, data: bytes) -> bytes:
        """What of `data` (and of a beginning held back before) is to be kept."""
        data, self._head = self._head + data, b""
        kept = []
        at = 0
        while at < len(data):
            if self._keep is None:
                beginning = data[at : at + len(self._prefix)]
                if len(beginning) < len(self._prefix) and self._prefix.startswith(beginning):
                    self._head = beginning
                    break
                self._keep = beginning != self._prefix
            after = data.find(b"\n", at) + 1
            end = after or len(data)
            if self._keep:
                kept.append(data[at:end])
            if after:
                self._keep = None
            at = end
        return b"".join(kept)

    def end(self) -> bytes:
        """What was held back when the output ended."""
        return self._head
