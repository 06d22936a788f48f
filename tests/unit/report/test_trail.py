"""The audit log from its end: across rotated files, with damaged lines, and while it is written and rotated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push.audit import Audit
from push.report.trail import Trail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def audit(path: Path) -> Iterator[Audit]:
    """A log whose files hold three records each."""
    log = Audit(path, content=False, max_bytes=150)
    yield log
    log.close()


def numbers(records: object) -> list[int]:
    return [record.fields["turn"] for record in records]  # type: ignore[attr-defined]


def write(audit: Audit, first: int, last: int) -> None:
    for number in range(first, last + 1):
        audit.record("even" if number % 2 == 0 else "odd", turn=number)


def test_the_newest_come_from_as_many_files_as_it_takes(path: Path, audit: Audit) -> None:
    write(audit, 1, 10)
    assert len(list(path.parent.iterdir())) > 3
    for count in (1, 4, 10, 99):
        trail = Trail(path)
        assert numbers(trail.newest(count)) == list(range(max(10 - count, 0) + 1, 11))
        trail.close()


def test_only_what_is_wanted(path: Path, audit: Audit) -> None:
    write(audit, 1, 9)
    trail = Trail(path, frozenset({"even"}))
    assert numbers(trail.newest(3)) == [4, 6, 8]
    write(audit, 10, 12)
    assert numbers(trail.more()) == [10, 12]
    trail.close()


def test_without_a_file_there_is_nothing_until_there_is_one(path: Path, audit: Audit) -> None:
    trail = Trail(path)
    assert trail.newest(5) == []
    assert numbers(trail.more()) == []
    write(audit, 1, 2)
    assert numbers(trail.more()) == [1, 2]
    trail.close()


def test_what_is_written_later_is_followed_over_several_rotations(path: Path, audit: Audit) -> None:
    write(audit, 1, 2)
    trail = Trail(path)
    assert numbers(trail.newest(9)) == [1, 2]
    assert numbers(trail.more()) == []
    write(audit, 3, 3)
    assert numbers(trail.more()) == [3]
    write(audit, 4, 13)  # several files come and go between two looks
    assert numbers(trail.more()) == list(range(4, 14))
    write(audit, 14, 14)
    assert numbers(trail.more()) == [14]
    trail.close()


def test_a_look_between_the_two_steps_of_a_rotation_is_no_end(path: Path, audit: Audit) -> None:
    write(audit, 1, 2)
    trail = Trail(path)
    trail.newest(9)
    audit.close()
    path.rename(path.with_name(f"{path.name}.1"))
    assert numbers(trail.more()) == numbers(trail.more()) == []
    write(audit, 3, 3)
    assert numbers(trail.more()) == [3]
    trail.close()


def test_a_file_that_was_removed_or_emptied_is_no_end(path: Path, audit: Audit) -> None:
    write(audit, 1, 2)
    trail = Trail(path)
    trail.newest(9)
    audit.close()
    path.unlink()
    write(audit, 3, 3)
    assert numbers(trail.more()) == [3]
    path.write_bytes(b"")
    assert numbers(trail.more()) == []
    write(audit, 4, 4)
    assert numbers(trail.more()) == [4]
    trail.close()


def test_damaged_lines_are_counted_and_passed(path: Path) -> None:
    good = b'{"ts_ms": 1, "event": "odd", "turn": %d}\n'
    path.write_bytes(good % 1 + b"\xff\xfe\n[1]\n{}\n\n" + good % 2 + b'{"ts_ms": 1, "ev')
    trail = Trail(path)
    assert numbers(trail.newest(9)) == [1, 2]
    assert trail.damaged == 3
    with path.open("ab") as file:
        file.write(b'ent": "odd", "turn": 3}\n"torn\n')
    assert numbers(trail.more()) == [3]  # its first half was there before
    assert trail.damaged == 4
    trail.close()
