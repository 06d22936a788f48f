"""Everybody's terminal for the torture run: prints whatever is ready, one JSON line for each answer."""

from __future__ import annotations

import json
import os
import sys
import time

from push.app.gear import open_gear
from push.app.terminal import Printed, Terminal
from push.config.load import load
from push.ledger.schema import OUTBOUND_OPEN


def main(path: str) -> None:
    """Print into the file `path` until killed."""
    gear = open_gear(load())
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def show(printed: Printed) -> None:
        os.write(out, json.dumps({"text": printed.text, "repeat": "repeat" in printed.note}).encode() + b"\n")

    while True:
        for (user,) in gear.db.rows(f"SELECT DISTINCT target FROM outbound WHERE state IN {OUTBOUND_OPEN}"):
            terminal = Terminal(gear, user, show)
            terminal.deliver()
            terminal.close()
        time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1])
