"""Push on a clock that a test can turn: `python -m tests.integration.shifted FILE WORDS...`.

FILE holds by how many seconds the clock is wrong, and may be changed at any time. The monotonic clock stays right.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

from push import clock
from push.cli.main import main

_right = clock.now


def _wrong() -> datetime:
    return _right() + timedelta(seconds=float(Path(sys.argv[1]).read_text()))


if __name__ == "__main__":
    clock.now = _wrong
    sys.exit(main(sys.argv[2:]))
