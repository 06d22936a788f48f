"""What must not be found: Push's secrets anywhere, and what people said outside the ledger and the spool."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.site import Process, Site
from tests.crash.verdict import check

_SECRETS = {
    "TELEGRAM_BOT_TOKEN": "7000000001:AAFsecretsecretsecretsecretsecret00",
    "OPENAI_API_KEY": "sk-proj-secretsecretsecretsecretsecret",
    "SENTRY_DSN": "http://0123456789abcdef0123456789abcdef@127.0.0.1:9/42",
}
_SAID = "the-orchard-gate-code-is-4711"
_ANSWERED = "the-heron-is-in-the-reeds"

#: Prints its environment after its answer, and complains on standard error with both.
TELLTALE = f"""#!/bin/sh
m=$(cat)
echo {_ANSWERED}
env
env >&2
echo "$m" >&2
while [ ! -e "$GATE" ]; do sleep 0.02; done
case $m in *fail*) exit 3 ;; esac
"""


@pytest.fixture
def telltale(gated: Site) -> Site:
    gated.agent.write_text(TELLTALE)
    return gated


@pytest.fixture
def gateway(telltale: Site) -> Iterator[Process]:
    process = telltale.serve(env=_SECRETS)
    assert process.is_running, process.err
    yield process
    process.stop()


def _files(place: Site, *except_for: str) -> Iterator[Path]:
    for path in place.root.rglob("*"):
        if path.is_file() and path.relative_to(place.root).parts[0] not in except_for:
            yield path


def _holding(files: Iterator[Path], *words: str) -> list[str]:
    return [f"{word} in {path}" for path in files for word in words if word.encode() in path.read_bytes()]


_LEDGER = ("push.db", "push.db-wal", "push.db-shm")


@pytest.mark.usefixtures("gateway")
def test_c61_an_agent_that_replies_with_its_environment(telltale: Site) -> None:
    telltale.gate.touch()
    terminal = telltale.start("chat", "--user", "ann", stdin=f"{_SAID}\n".encode(), env=_SECRETS)
    assert terminal.wait() == 0
    assert _ANSWERED in terminal.out
    assert "DIARY=" in terminal.out, "it did print its environment"
    assert not [name for name, value in _SECRETS.items() if name in terminal.out or value in terminal.out]
    assert "PUSH_SEAMS" not in terminal.out


@pytest.mark.usefixtures("gateway")
def test_no_secret_and_no_message_outside_the_ledger_and_the_spool(telltale: Site) -> None:
    """While a run is at work, after its answer, after a failure and after a kill."""
    terminals = [
        telltale.start("chat", "--user", user, stdin=f"{_SAID} {user}\n".encode(), env=_SECRETS)
        for user in ("ann", "fail")
    ]
    telltale.until(lambda: len(list((telltale.root / "spool").glob("*/out"))) == 2, "two runs at work")
    at_work = _holding(_files(telltale, *_LEDGER, "agent.sh", "spool"), *_SECRETS.values(), _SAID, _ANSWERED)
    at_work += _holding(_files(telltale), *_SECRETS.values())
    telltale.gate.touch()
    assert [terminal.wait() for terminal in terminals] == [0, 1]
    after = _holding(_files(telltale, *_LEDGER, "agent.sh"), *_SECRETS.values(), _SAID, _ANSWERED)
    after += _holding(_files(telltale), *_SECRETS.values())
    assert at_work + after == []
    check(telltale)


def test_nor_in_what_anybody_can_see_of_our_processes(telltale: Site, gateway: Process) -> None:
    telltale.commit(("ann", _SAID))
    telltale.until(telltale.runners, "a run at work")
    for pid in _family(telltale):
        line = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
        assert not [word for word in (*_SECRETS.values(), _SAID) if word in line], line
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode()
        assert pid == gateway.pid or not [word for word in _SECRETS.values() if word in environment]
    telltale.gate.touch()


@pytest.mark.usefixtures("gateway")
def test_nobody_else_can_read_the_spool_and_it_is_emptied(telltale: Site) -> None:
    telltale.commit(("ann", _SAID))
    telltale.until(lambda: list((telltale.root / "spool").glob("*/out")), "a run at work")
    for path in (telltale.root / "spool", *(telltale.root / "spool").rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.lstat().st_mode) == wanted, path
    telltale.gate.touch()
    telltale.until_states("answered")
    check(telltale)


@pytest.mark.usefixtures("gateway")
def test_no_process_of_ours_listens(telltale: Site) -> None:
    telltale.commit(("ann", "one"))
    telltale.until(telltale.runners, "a run at work")
    pids = _family(telltale)
    assert len(pids) >= 3, "the gateway, the runner and the agent"
    inodes = {inode for pid in pids for inode in _sockets(pid)}
    assert inodes, "the gateway has its wake-up sockets"
    assert not inodes & _listening()
    telltale.gate.touch()


def test_it_would_be_seen_if_one_did(telltale: Site) -> None:
    """The check above, on a process that does listen."""
    import socket

    with socket.create_server(("127.0.0.1", 0)):
        assert _sockets("self") & _listening()


def _family(place: Site) -> list[int]:
    """Every process that lives with this home in its environment."""
    mark = f"PUSH_HOME={place.root}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _sockets(pid: int | str) -> set[str]:
    found = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(fd.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def _listening() -> set[str]:
    """Inodes of every TCP socket that listens and every UDP socket, of both families, as `ss -lntup` shows them."""
    found = set()
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == state:
                found.add(words[9])
    return found
