"""A home that cannot be used: read-only, full, damaged, newer. Said clearly; nothing lost, no loop stopped."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from push.locks import FileLock
from tests.crash.site import PUSH, Process, Site, site
from tests.crash.verdict import check

_MIB = 1024 * 1024


def _unprivileged() -> tuple[str, ...]:
    """What to put before a command so that permissions apply to it: root passes over them."""
    if os.geteuid():
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("permissions do not bind root, and setpriv is not there to drop that right")
    return ("setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search")


def _run(place: Site, *words: str) -> Process:
    return place.spawn((*_unprivileged(), *PUSH, *words))


@pytest.mark.parametrize("words", [("run",), ("consumer",), ("chat", "--user", "ann", "one"), ("status",)])
def test_a_home_without_write_access(place: Site, words: tuple[str, ...]) -> None:
    place.root.chmod(0o500)
    try:
        process = _run(place, *words)
        assert process.wait() == (0 if words == ("status",) else 5), process.err
        if words != ("status",):
            assert [line.split()[0] for line in process.err.splitlines()][-3:] == ["error:", "why:", "next:"]
    finally:
        place.root.chmod(0o700)


def test_a_home_that_cannot_be_made(place: Site) -> None:
    folder = place.root / "closed"
    folder.mkdir(mode=0o500)
    process = place.spawn((*_unprivileged(), *PUSH, "chat", "--user", "ann", "x"), env={"PUSH_HOME": f"{folder}/home"})
    assert process.wait() == 5
    assert "cannot create" in process.err


@pytest.mark.parametrize("name", ["file", "loop", "n" * 300])
def test_a_home_that_can_be_none_is_no_defect_of_push(place: Site, name: str) -> None:
    (place.root / "file").touch()
    (place.root / "loop").symlink_to("loop")
    process = place.spawn((*PUSH, "status", "--json"), env={"PUSH_HOME": str(place.root / name)})
    assert process.wait() in {3, 5}
    assert json.loads(process.err)["error"]["hint"].startswith("ls -ld ")


def test_a_folder_where_a_file_should_be_is_no_defect_of_push(place: Site) -> None:
    (place.root / "queue.db").mkdir()
    process = place.run("run")
    assert process.wait() == 5
    assert process.err.splitlines()[-1] == f"next: ls -ld {place.root}/queue.db"


def test_a_spool_that_becomes_read_only_postpones(place: Site) -> None:
    gateway = _run(place, "run")
    place.until_ready(gateway)
    spool = place.root / "spool"
    spool.chmod(0o500)
    place.commit(("ann", "one"), ("ann", "two"))
    place.until(lambda: place.turns()[0].reason == "eacces", "a postponed turn")
    listed = place.run("retries", "list")
    assert "eacces" in listed.out
    spool.chmod(0o700)
    assert place.run("retries", "now", "t1").wait() == 0
    place.until_states("answered", "answered")
    assert place.entries() == ["one", "two"]
    check(place)


def test_a_newer_database_is_left_alone(place: Site) -> None:
    place.serve().stop()
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("PRAGMA user_version = 999")
    before = place.db.read_bytes()
    for words in (("run",), ("chat", "--user", "ann", "one"), ("verify",)):
        process = place.run(*words)
        assert process.wait() == 4, words
        assert "schema 999" in process.err
    assert place.db.read_bytes() == before


def test_a_damaged_database_is_said(place: Site) -> None:
    place.db.write_bytes(b"this is no database " * 200)
    for words in (("run",), ("chat", "--user", "ann", "one")):
        process = place.run(*words)
        assert process.wait() == 5
        assert "not a SQLite database" in process.err


@pytest.mark.parametrize("damage", ["rubbish", "gone", "truncated", "foreign"])
def test_a_damaged_queue_loses_nothing(gated: Site, damage: str) -> None:
    """Before a start and under a running gateway, with work waiting."""
    queue = gated.root / "queue.db"
    gateway = gated.serve()
    gated.commit(("ann", "one"), ("ann", "two"), ("bob", "three"))
    gated.until(lambda: len(gated.entries()) == 2, "two agents at work")
    _damage(queue, damage)
    gated.commit(("cid", "four"))
    gated.until(lambda: "four" in gated.entries(), "a new message at work")
    gateway.kill()
    _damage(queue, damage)
    gated.gate.touch()
    gated.serve()
    gated.until_states(*["answered"] * 4)
    assert sorted(gated.entries()) == ["four", "one", "three", "two"]
    check(gated)


def _damage(queue: Path, how: str) -> None:
    if how == "gone":
        for suffix in ("", "-wal", "-shm"):
            queue.with_name(queue.name + suffix).unlink(missing_ok=True)
    elif how == "truncated":
        os.truncate(queue, 100)
    elif how == "rubbish":
        queue.write_bytes(os.urandom(8192))
    else:
        queue.unlink()
        with closing(sqlite3.connect(queue)) as connection:
            connection.execute("CREATE TABLE task (something_else)")


def _is_free(path: Path) -> bool:
    lock = FileLock.take(path)
    if lock:
        lock.unlock()
    return lock is not None


@pytest.fixture
def small(home: Path) -> Iterator[Site]:
    """A site on a disk of its own of 128 MiB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m,mode=700", "tmpfs", home], check=False)
    if mounted.returncode:
        pytest.skip("a disk of its own needs the right to mount a tmpfs")
    try:
        with site(home) as made:
            yield made
    finally:
        subprocess.run(["umount", "-l", home], check=True)


def _fill(place: Site, leave: int) -> Path:
    """Leave so many bytes free."""
    ballast = place.root / "ballast"
    room = os.statvfs(place.root)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - leave)
    return ballast


def test_too_little_room_for_a_run_postpones_it(small: Site) -> None:
    small.serve()
    ballast = _fill(small, 32 * _MIB)
    small.commit(("ann", "one"), ("ann", "two"))
    small.until(lambda: small.turns()[0].reason == "enospc", "a postponed turn")
    assert small.entries() == []
    ballast.unlink()
    assert small.run("retries", "now", "t1").wait() == 0
    small.until_states("answered", "answered")
    assert small.entries() == ["one", "two"]
    check(small)


def test_a_full_disk_refuses_messages_and_stops_no_loop(small: Site) -> None:
    small.serve()
    small.commit(("ann", "one"))
    small.until_states("answered")
    ballast = _fill(small, 0)
    refused = small.start("chat", "--no-wait", "--user", "ann", "x" * 100_000)
    assert refused.wait() == 5, refused.err
    assert "disk is full" in refused.err or "No space left" in refused.err
    assert len(small.turns()) == 1
    ballast.unlink()
    terminal = small.chat("ann", "two")
    assert terminal.wait(60) == 0
    assert terminal.out == "re: one\nre: two\n"
    check(small)


def test_a_disk_that_fills_up_during_a_run_loses_nothing(small: Site) -> None:
    """The answer cannot be committed: the run's result waits in the spool until it can."""
    go_on = small.outside / "go-on"
    small.serve(seams=f"turn.runner_ended=pause:{go_on}")
    small.commit(("ann", "one"))
    small.until((small.outside / "go-on.reached").exists, "a run that has ended")
    ballast = _fill(small, 0)
    go_on.touch()
    small.until(lambda: _is_free(small.root / "run" / "locks" / "c1.watch"), "a worker that has given up")
    assert small.states() == ["running"]
    ballast.unlink()
    small.commit(("ann", "two"))
    small.until_states("answered", "answered")
    assert small.entries() == ["one", "two"]
    check(small)
