"""The generated pages of the reference are what the code says now; `make docs` writes them."""

from __future__ import annotations

from docs import generate
from push.config import reference


def test_the_command_line_is_current() -> None:
    assert generate.PAGE.read_text() == generate.page()


def test_the_configuration_is_current() -> None:
    assert generate.PAGE.with_name("configuration.md").read_text().rstrip() == reference.markdown().rstrip()
