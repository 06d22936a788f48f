"""Every seam is passed by the code, named in the list, and killed at by a test of this folder."""

from __future__ import annotations

import re
from pathlib import Path

import push
from push.seams import RUNNER_SEAMS, SEAMS
from tests.backup import test_kills
from tests.crash import (
    test_gateway_seams,
    test_rare_seams,
    test_runner_seams,
    test_session_seams,
    test_telegram_seams,
    test_terminal_seams,
)
from tests.integration import test_control_plane

_MODULES = (
    test_gateway_seams,
    test_rare_seams,
    test_runner_seams,
    test_session_seams,
    test_telegram_seams,
    test_terminal_seams,
    test_kills,
)
#: Tests of their own, outside of the lists.
_ALSO = {
    "turn.command_committed": test_gateway_seams,
    "turn.interrupted_committed": test_gateway_seams,
    "progress.sent": test_control_plane,
    "progress.posted": test_control_plane,
}
_CALL = re.compile(r'(?:self\.)?seam\("([a-z_.]+)"\)')


def test_a_test_kills_at_every_seam() -> None:
    tested = set(_ALSO).union(*(module.SEAMS for module in _MODULES))
    assert tested == SEAMS | set(RUNNER_SEAMS)


def test_a_killing_test_names_each() -> None:
    """A name in a module's list stands in one of its tests as well, or is taken from the list as a whole."""
    for name, module in _ALSO.items():
        assert f"{name}=kill" in Path(str(module.__file__)).read_text(), name
    for module in _MODULES:
        text = Path(str(module.__file__)).read_text()
        if 'parametrize("seam", SEAMS)' in text or "RUNNER_SEAMS)" in text:
            continue
        for name in module.SEAMS:
            assert text.count(f'"{name}') + text.count(f"{name}=") > 1, name


def test_the_lists_name_what_the_code_passes() -> None:
    passed: set[str] = set()
    for path in Path(push.__file__).parent.rglob("*.py"):
        passed |= set(_CALL.findall(path.read_text()))
    assert passed == SEAMS | set(RUNNER_SEAMS)
