"""An installed Push, far from its repository, has the units with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTAINERFILE = ROOT / "deploy" / "container" / "Containerfile"


def built(kind: str, source: Path, target: Path) -> Path:
    """What the build backend makes of a folder, without writing in it."""
    target.mkdir()
    call = f"from flit_core import buildapi; print(buildapi.build_{kind}({str(target)!r}))"
    done = subprocess.run([sys.executable, "-c", call], cwd=source, capture_output=True, text=True, check=True)
    return target / done.stdout.strip()


def copied_by_the_container(target: Path) -> Path:
    """Only what the Containerfile copies."""
    for words in re.findall(r"^COPY (.*)$", CONTAINERFILE.read_text(), re.MULTILINE):
        *sources, place = words.split()
        for name in sources:
            source, goal = ROOT / name, target / place / (name if place == "./" else "")
            if source.is_dir():
                shutil.copytree(source, goal, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, goal)
    return target


def unpacked_source_distribution(target: Path) -> Path:
    """What `pip download --no-binary` would bring."""
    with tarfile.open(built("sdist", ROOT, target.with_name("sdist"))) as archive:
        archive.extractall(target, filter="data")
    return next(target.iterdir())


@pytest.mark.parametrize("source", [copied_by_the_container, unpacked_source_distribution])
def test_a_wheel_can_install_a_service(source: object, home: Path, tmp_path: Path) -> None:
    assert callable(source)
    site = tmp_path / "site"
    with zipfile.ZipFile(built("wheel", source(tmp_path / "source"), tmp_path / "wheel")) as wheel:
        wheel.extractall(site)
    (home / "config.toml").write_text('channels = ["local"]\nagent = "command"\ncommand = ["cat"]\n')
    environment = os.environ | {"PYTHONPATH": str(site)}
    script = "import sys, push.cli.main as m; print(m.__file__); sys.exit(m.main(['service', 'install', '--print']))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(site))
    for deployed in (ROOT / "deploy").glob("*/*.*"):
        if deployed.suffix in {".service", ".conf", ".plist"}:
            assert (site / "push" / "supervisors" / deployed.name).read_bytes() == deployed.read_bytes()
    assert "KillMode=process" in done.stdout or sys.platform == "darwin"
