"""What a backup is worth: its archive is whole, and what is in it proves itself (`push.ledger.verify`).

Owns the order of the questions, on a private copy; does not own them.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from push.backup import archive
from push.backup.manifest import Manifest, newer
from push.errors import DependencyError, PushError
from push.ledger.schema import VERSION
from push.ledger.verify import Damage, Proof
from push.paths import Home
from push.report.proof import prove


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is inside, and every damage. Without a manifest nothing inside was looked at."""

    manifest: Manifest | None
    damages: tuple[Damage, ...]
    omitted: dict[str, int]


def verify(file: Path, watch: Callable[[str], None]) -> Verdict:
    """Judge a backup, changing nothing. Raises Failed where there is none, DependencyError where it is too new."""
    with tempfile.TemporaryDirectory(prefix="push-verify-") as folder:  # made with 0700
        return judge(file, Path(folder), watch)


def judge(file: Path, folder: Path, watch: Callable[[str], None]) -> Verdict:
    """As `verify`, unpacked into a private `folder`. An older ledger is brought up to date there."""
    manifest, damages = archive.unpack(file, folder, watch)
    if manifest is None:
        return Verdict(None, damages, {})
    if manifest.schema > VERSION:
        raise newer(f"the backup has schema {manifest.schema}; this version of Push knows {VERSION}")
    if any(damage.row == "push.db" for damage in damages):  # it is not what was backed up: nothing to be learnt from it
        return Verdict(manifest, damages, {})
    proof = _prove(Home.at(folder), watch)
    found = (*damages, *_config_damages(folder), *_count_damages(manifest, proof), *proof.damages)
    return Verdict(manifest, found, proof.omitted)


def _prove(home: Home, watch: Callable[[str], None]) -> Proof:
    """What cannot be opened at all is a damage too: the copy is ours, so that nobody else can be to blame."""
    try:
        return prove(home, watch)
    except DependencyError as exc:
        raise newer(f"the backup's ledger is of a schema that this version of Push does not know ({VERSION})") from exc
    except PushError as exc:
        if exc.code == "disk_full":
            raise
        return Proof(0, 0, (Damage("file_damaged", "push.db", f"it cannot be opened: {exc.why}"),), {})


def _config_damages(folder: Path) -> tuple[Damage, ...]:
    file = folder / "config.toml"
    try:
        if file.exists():
            tomllib.loads(file.read_text())
    except (ValueError, RecursionError):
        return (Damage("config_damaged", "config.toml", "it is not TOML"),)
    return ()


def _count_damages(manifest: Manifest, proof: Proof) -> tuple[Damage, ...]:
    told, found = (manifest.turns, manifest.deliveries), (proof.turns, proof.deliveries)
    if told == found or proof.damages:
        return ()
    sentence = f"it holds {found[0]} turns and {found[1]} deliveries; the manifest says {told[0]} and {told[1]}"
    return (Damage("archive_counts", "push.db", sentence),)
