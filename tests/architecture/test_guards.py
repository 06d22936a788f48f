"""The guards of tests/conftest.py, seen to bite."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"


def run(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    """Run one test, whose body is given, under our conftest in a pytest of its own."""
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(f"import os, socket, subprocess, sys\nimport pytest\n\ndef test_it(home):\n    {body}\n")
    return pytester.runpytest_subprocess("-p", "no:randomly")


def test_a_process_left_behind_fails_the_test(pytester: pytest.Pytester) -> None:
    left = "subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE, start_new_session=True)"
    result = run(pytester, f"globals()['kept'] = {left}")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*left behind: *input()*"])


def test_an_ended_process_does_not(pytester: pytest.Pytester) -> None:
    run(pytester, "subprocess.run(['true'], check=True)").assert_outcomes(passed=1)


@pytest.mark.parametrize("name", ["connect", "connect_ex"])
def test_the_world_outside_is_refused(pytester: pytest.Pytester, name: str) -> None:
    result = run(pytester, f"socket.socket().{name}(('192.0.2.1', 9))")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*tests are offline*"])


def test_loopback_is_not(pytester: pytest.Pytester) -> None:
    run(
        pytester,
        "with socket.create_server(('127.0.0.1', 0)) as s: socket.create_connection(s.getsockname()).close()",
    ).assert_outcomes(passed=1)


def test_the_owners_settings_are_out_of_reach(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUSH_CONFIG", "the owner's")
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "1:secret")
    ours = "{'PUSH_CONFIG', 'TELEGRAM_BOT_TOKEN'} & set(os.environ)"
    where = f"not {ours} and os.environ['HOME'] != {str(Path.home())!r} and os.environ['PUSH_HOME'] == str(home)"
    run(pytester, f"assert {where}").assert_outcomes(passed=1)
