"""Short programs that answer at once, or should."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from push.agents import process
from push.agents import spool as spooling
from push.agents.process import run_probe

_DESCRIPTORS = Path("/dev/fd")


def _env() -> dict[str, str]:
    return dict(os.environ)


def test_a_probe_says_what_it_said() -> None:
    probe = run_probe(("sh", "-c", "echo 1.2.3; echo warn >&2; cat; exit 3"), env=_env())
    assert (probe.code, probe.errno, probe.output) == (3, None, "1.2.3\nwarn\n")


def test_a_probe_is_looked_up_where_its_environment_says(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o755)
    assert run_probe(("agent",), env=_env() | {"PATH": f"{tmp_path}:/usr/bin:/bin"}).output == "here\n"
    assert run_probe(("agent",), env=_env()).errno == errno.ENOENT


def test_a_probe_is_bounded_in_time_whoever_holds_its_output() -> None:
    began = time.monotonic()
    probe = run_probe(("sh", "-c", "echo so far; sleep 600 & sleep 600"), env=_env(), seconds=0.3)
    assert time.monotonic() - began < 5
    assert (probe.code, probe.output) == (None, "so far\n")


def test_a_probe_is_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROBE_BYTES", 10)
    assert run_probe(("printf", "%s", "ü" * 20), env=_env()).output == "ü" * 5


def test_preparing_again_removes_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.write_text("kept")
    spool = spooling.prepare(tmp_path, "t1-1", prompt=b"one", instructions="x")
    spool.result.symlink_to(beside)
    (spool.dir / "folder").mkdir()
    again = spooling.prepare(tmp_path, "t1-1", prompt=b"two", instructions="\ud800")
    assert again == spool
    assert spooling.read_result(again) is None
    assert (again.prompt.read_bytes(), again.instructions.read_text(), beside.read_text()) == (b"two", "?", "kept")
    spooling.remove(again)
    spooling.remove(again)
    assert [path.name for path in tmp_path.iterdir()] == ["beside"]


def test_a_spool_below_a_link_is_the_same_spool(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert spooling.Spool.at(tmp_path / "link", "t1-1") == spooling.Spool.at(tmp_path / "real", "t1-1")


def test_a_runner_that_cannot_be_started_at_all_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    spool = spooling.prepare(tmp_path, "t1-1", prompt=b"x", instructions="x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    launch = process.Launch(("cat",), _env(), tmp_path, 10, 1, 1000)
    with pytest.raises(FileNotFoundError):
        process.start(spool, launch, 0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert process.recover(spool) is process.Recovered.NEVER_STARTED


def test_a_start_that_fails_keeps_no_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each further try of a process that has none left makes it worse."""
    spool = spooling.prepare(tmp_path, "t1-1", prompt=b"", instructions="")
    spool.err.mkdir()
    launch = process.Launch(("true",), _env(), tmp_path, 1.0, 1.0, 1)
    before = len(list(_DESCRIPTORS.iterdir()))
    with pytest.raises(IsADirectoryError):
        process.start(spool, launch, 0)
    spool.err.rmdir()
    monkeypatch.setattr(process, "_ROOT", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        process.start(spool, launch, 0)
    assert len(list(_DESCRIPTORS.iterdir())) == before


def test_a_record_that_cannot_be_looked_for_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = spooling.prepare(tmp_path, "t1-1", prompt=b"x", instructions="x")
    look = os.lstat

    def refused(path: Path, *arguments: Any, **named: Any) -> os.stat_result:
        if str(path) == str(spool.agent):
            raise PermissionError(errno.EACCES, "the agent closed its folder")
        return look(path, *arguments, **named)

    monkeypatch.setattr(os, "lstat", refused)
    assert process.recover(spool) is process.Recovered.KILLED
