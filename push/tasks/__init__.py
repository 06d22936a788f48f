"""Lanes, the bell, the sweep, and per task the order of steps: with `push.app` the only code that knows Huey."""
