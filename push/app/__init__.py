"""Composition and process life: what `push run`, `poll`, `consumer` and `chat` are made of."""
