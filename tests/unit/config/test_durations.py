"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from push.config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120s", 120.0),
        ("10m", 600.0),
        ("1h 30m", 5400.0),
        ("1h30m", 5400.0),
        ("500ms", 0.5),
        ("2days 4hours", 187_200.0),
        ("1M", 2_630_016.0),  # a month, not a minute
        ("1.5h", 5400.0),
        (" 3 sec ", 3.0),
        ("250us", 0.00025),
    ],
)
def test_reads(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["", " ", "5", "m", "-5m", "5 minuts", "1h, 30m", "1e3s", "٣s", "1h\n;"])
def test_refuses(text: str) -> None:
    assert parse_duration(text) is None


@given(st.integers(min_value=0, max_value=400 * 86_400_000))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)
