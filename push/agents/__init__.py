"""Agent CLIs: their adapters, and the runner that executes one in its own process, to its end, whoever dies."""
