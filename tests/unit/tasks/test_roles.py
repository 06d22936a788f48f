"""Roles: alive exactly while the file is locked; nobody trusts a pid."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from push.errors import ConflictError
from push.locks import FileLock
from push.tasks import roles


def test_who_comes_second_is_told_who_holds_the_role(home: Path) -> None:
    first = roles.take(home, "poll", "push run")
    with pytest.raises(ConflictError, match=rf"`push run` \(process {os.getpid()}, since .*\) runs already") as caught:
        roles.take(home, "poll", "push poll")
    assert caught.value.exit_code == 6
    first.close()
    roles.take(home, "poll", "push poll").close()


def test_consumers_may_be_several_but_not_endless(home: Path) -> None:
    held = [roles.take_consumer(home, "push consumer") for _ in range(roles.CONSUMER_SLOTS)]
    assert len({role.name for role in held}) == roles.CONSUMER_SLOTS
    with pytest.raises(ConflictError):
        roles.take_consumer(home, "push consumer")
    for role in held:
        role.close()
    assert not roles.consumer_lives(home)


def test_the_living_are_listed_with_what_their_loops_do(home: Path) -> None:
    role = roles.take_consumer(home, "push consumer")
    role.beat("sweep", "next in 30 s")
    (holder,) = roles.living(home)
    assert (holder.role, holder.pid, holder.command) == ("consumer-0", os.getpid(), "push consumer")
    assert holder.loops["sweep"][1] == "next in 30 s"
    role.close()
    assert roles.living(home) == []


def test_c16_a_killed_holder_frees_its_role_whatever_pid_the_file_names(home: Path) -> None:
    code = "import sys,os,signal; from pathlib import Path; from push.tasks import roles; "
    code += "roles.take(Path(sys.argv[1]), 'poll', 'push poll'); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code, str(home)], check=False)
    file = home / "poll.role"
    file.write_text(file.read_text().replace('"pid": ', f'"pid": {os.getpid()}, "was": '))  # reused by a stranger
    assert roles.living(home) == []
    roles.take(home, "poll", "push poll").close()


def test_a_damaged_role_file_is_no_obstacle(home: Path) -> None:
    (home / "poll.role").write_bytes(b"\xff{")
    assert roles.living(home) == []
    roles.take(home, "poll", "push poll").close()


def test_a_beat_that_cannot_be_written_ends_no_loop(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    role = roles.take_consumer(home, "push consumer")
    write = FileLock.write

    def full(_lock: FileLock, _text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileLock, "write", full)
    role.beat("sweep", "lost")
    monkeypatch.setattr(FileLock, "write", write)
    role.beat("turns", "16 workers")
    (holder,) = roles.living(home)
    assert holder.loops["sweep"][1] == "lost"
    role.close()
