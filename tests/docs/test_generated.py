"""The page on the command line is what the live commands say now; `make docs` writes it."""

from __future__ import annotations

from docs import generate


def test_the_command_line_is_current() -> None:
    assert generate.PAGE.read_text() == generate.page()
