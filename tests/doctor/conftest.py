"""Every test here gets a patient."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.patient import Patient


@pytest.fixture
def patient(home: Path, tmp_path: Path) -> Patient:
    """A healthy home, whose shell is its own."""
    return Patient(home, tmp_path / "bin")
