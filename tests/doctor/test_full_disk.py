"""A disk that is really full: a small file system of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from push.ledger.database import Database
from tests.doctor.patient import Patient

#: Fills it to the last byte: an old run's output, then something of somebody else's.
_FILL = """
mkdir -m 700 -p spool/t7-1
head -c 240M /dev/zero >spool/t7-1/out
touch -d '400 days ago' spool/t7-1/out spool/t7-1
cat /dev/zero >assistant/film 2>/dev/null
true
"""


@pytest.fixture
def small(patient: Patient) -> Patient:
    """A patient whose home is in a file system of 300 MiB, which only this test's processes see."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("only root can mount a small file system")
    Database.open(patient.home / "push.db").close()
    kept = patient.bin.parent / "kept"
    patient.prefix = f"""
    if [ -z "$INSIDE" ]; then
        cp -a "$PUSH_HOME" {kept}
        mount -t tmpfs -o size=300m,mode=700 none "$PUSH_HOME" || exit 1
        cp -a {kept}/. "$PUSH_HOME" && cd "$PUSH_HOME" && rm -r {kept}
    fi"""
    return patient


def script(patient: Patient, body: str) -> str:
    done = subprocess.run(
        ["unshare", "--mount", "/bin/sh", "-c", f"{patient.prefix}\n{body}"],
        env=patient.env,
        cwd=patient.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_full_disk_is_named_and_freed_of_what_is_ours(small: Patient, home: Path) -> None:
    said = script(
        small, f"push consumer --drain\n{_FILL}\npush doctor\necho ---\npush doctor --fix\necho ---\npush doctor"
    )
    before, fix, after = said.split("---\n")
    assert "failed  disk: 0 MiB free" in before
    assert f"the most in {home}/spool/t7-1/out (240 MiB)" in before
    assert "next: push doctor --fix" in before
    assert "fixed   disk: removed queue.db, which is made anew; removed 1 old folder of the spool; 240 MiB" in fix
    assert "failed" not in after.replace("0 failed", "")


def test_where_nothing_of_ours_can_go_doctor_says_who_holds_it(small: Patient) -> None:
    said = script(small, "cat /dev/zero >assistant/film 2>/dev/null\npush doctor --fix")
    assert "failed  disk: 0 MiB free" in said
    assert "assistant/film" in said
    assert "not repaired" in said
    assert "next: df -h " in said
