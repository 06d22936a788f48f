"""Where the home is."""

from __future__ import annotations

from pathlib import Path

import pytest

from push.errors import ConfigError
from push.paths import default_home


def test_push_home_wins_and_an_empty_one_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PUSH_HOME", "~/elsewhere")
    assert default_home() == tmp_path / "elsewhere"
    monkeypatch.setenv("PUSH_HOME", "")
    assert default_home() == tmp_path / ".push"


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUSH_HOME", "~nobody-of-this-name/push")
    with pytest.raises(ConfigError) as caught:
        default_home()
    assert (caught.value.code, caught.value.exit_code) == ("home_unknown", 3)
