"""A configuration file in a home of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from push.config import Settings, load
from push.config.findings import InvalidConfig

TOKEN = "123456789:AAEhBP0av28FrLXNLDJLL3nLX1kEr8oX9-Q"


@pytest.fixture
def write(home: Path) -> Callable[[str], Path]:
    """Write config.toml and return its path."""

    def writing(text: str) -> Path:
        path = home / "config.toml"
        path.write_text(text)
        return path

    return writing


@pytest.fixture
def loaded(write: Callable[[str], Path]) -> Callable[[str], Settings]:
    """Load a text as config.toml."""

    def loading(text: str) -> Settings:
        write(text)
        return load()

    return loading


@pytest.fixture
def refused(write: Callable[[str], Path]) -> Callable[[str], InvalidConfig]:
    """The error of a text that must not load."""

    def refusing(text: str) -> InvalidConfig:
        write(text)
        with pytest.raises(InvalidConfig) as caught:
            load()
        return caught.value

    return refusing
