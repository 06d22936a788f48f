"""The newcomer's hour in the environment of the tests; `.ci/run` has it again with a real install, as a stranger."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.newcomer.journey import Journey
from tests.newcomer.machine import machine


@pytest.mark.slow
def test_a_newcomer_gets_an_answer_and_repairs_what_breaks_with_the_commands_that_are_printed() -> None:
    with machine(prefix=Path(sys.prefix)) as made:
        Journey(made).travel()
