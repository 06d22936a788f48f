"""Commits messages as a terminal does, many in one process: reads a JSON list of [user, text] from standard input."""

from __future__ import annotations

import json
import sys

from push.app.gear import open_gear
from push.config.load import load
from push.gateway import intake
from push.providers import local
from push.tasks.bells import Bells


def main() -> None:
    """Commit and ring, in order; no terminal remains that would print the answers."""
    gear = open_gear(load())
    bells = Bells(gear.settings.home)
    token = local.new_token()
    for number, (user, text) in enumerate(json.load(sys.stdin)):
        message = local.message(user, token, number, text)
        bells.accepted(local.CHANNEL, intake.accept(gear.db, gear.audit, message))
    bells.close()
    gear.db.close()


if __name__ == "__main__":
    main()
