"""Killed while a backup is made or restored: there is nothing, or all of it, and the next try succeeds."""

from __future__ import annotations

import random
import signal
import stat
import time
from pathlib import Path

import pytest

from tests.crash.site import Site, site

pytestmark = pytest.mark.crash

SEAMS = ("backup.packed", "restore.before_rename", "restore.renamed")


@pytest.fixture(scope="module")
def backed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup with something open in it."""
    folder = tmp_path_factory.mktemp("backed")
    (folder / "home").mkdir()
    with site(folder / "home") as made:
        made.commit(*[(f"user{number % 9}", f"text {number}") for number in range(400)])
        assert made.run("backup", "create", str(folder / "backup.tar")).wait() == 0
    return folder / "backup.tar"


def is_whole(place: Site, copy: Path) -> bool:
    """Whether the copy is a home in which everything is held; otherwise it must not be there at all."""
    if not copy.exists():
        return False
    verified = place.start("verify", env={"PUSH_HOME": str(copy)})
    assert verified.wait() == 0, verified.out + verified.err
    held = place.start("retries", "list", "--limit", "1000", env={"PUSH_HOME": str(copy)})
    assert held.wait() == 0
    assert held.out.count("held") == 400
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    assert all(stat.S_IMODE((copy / name).stat().st_mode) == 0o600 for name in ("push.db", "config.toml"))
    return True


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".partial")]


@pytest.mark.parametrize("seam", SEAMS)
def test_killed_at_a_seam(home: Path, backed: Path, tmp_path: Path, seam: str) -> None:
    with site(home) as place:
        target = tmp_path / "made"
        words = ("create", str(target)) if seam.startswith("backup") else ("restore", str(backed), "--to", str(target))
        killed = place.start("backup", *words, seams=f"{seam}=kill")
        assert killed.wait() == -signal.SIGKILL
        if seam == "restore.renamed":
            assert is_whole(place, target)
            return
        assert not target.exists()
        assert len(left_over(tmp_path)) == 1
        again = place.run("backup", *words)
        assert again.wait() == 0, again.err
        assert left_over(tmp_path) == []
        assert target.is_file() if seam.startswith("backup") else is_whole(place, target)


@pytest.mark.parametrize("seed", range(6))
def test_a_restore_that_is_killed_at_any_moment(home: Path, backed: Path, tmp_path: Path, seed: int) -> None:
    with site(home) as place:
        chance = random.Random(seed)
        process = place.start("backup", "restore", str(backed), "--to", str(tmp_path / "copy"))
        time.sleep(chance.uniform(0.1, 0.8))
        process.kill()
        if not is_whole(place, tmp_path / "copy"):
            again = place.run("backup", "restore", str(backed), "--to", str(tmp_path / "copy"))
            assert again.wait() == 0, again.err
            assert is_whole(place, tmp_path / "copy")


def test_two_at_a_time_do_not_mix(home: Path, backed: Path, tmp_path: Path) -> None:
    with site(home) as place:
        gate = tmp_path / "gate"
        words = ("backup", "restore", str(backed), "--to", str(tmp_path / "copy"))
        first = place.start(*words, seams=f"restore.before_rename=pause:{gate}")
        place.until(Path(f"{gate}.reached").exists, "the first at its seam")
        second = place.run(*words)
        assert second.wait() == 6
        assert "is taken" in second.err
        gate.touch()
        assert first.wait() == 0, first.err
        assert is_whole(place, tmp_path / "copy")
