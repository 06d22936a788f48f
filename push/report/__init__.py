"""Read-only views over everything: what `push status` shows and what `push verify` proves."""
