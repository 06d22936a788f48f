"""Processes as the gateway sees them: runs that it starts, follows and ends, and what a killed runner left behind.

Owns the only use of `subprocess`; does not own what happens inside a run (`runner.py`) or what its output means.

A run is two processes: the runner, and the agent that it starts. The runner inherits the conversation's lock, so
that the lock is free only when nobody carries the run any more, and it outlives the gateway.
"""

from __future__ import annotations

import enum
import errno
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import push
from push import clock, environ
from push.agents import children, tree
from push.agents.spool import Spool, read_result, write_result
from push.model.values import Exited
from push.paths import open_plain, open_private

# The package's folder is appended: in front, a file beside it could pass for one of the standard library.
# Not `-m`: that would import the world. A module, not a script: only modules are compiled once.
_BOOT = "import sys; sys.path.append(sys.argv[1]); from push.agents.runner import main; main(sys.argv[2:])"
_ROOT = str(Path(push.__file__).resolve().parents[1])

KILL_SECONDS = 5.0  # what SIGKILL does not end within this, it does not end
BEGIN_SECONDS = 1.0  # from its start to its record a runner needs some 15 ms, on a busy machine more
POLL_SECONDS = 0.1
PROBE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Launch:
    """What to run, and its limits.

    `argv[0]` is looked up on the PATH of `env`. The deadline counts from the runner's start; `grace_seconds` lie
    between SIGTERM and SIGKILL. `output_cap` is in bytes, for each of the two streams. Lines of standard output that
    begin with `drop_prefix` are not kept.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    deadline_seconds: float
    grace_seconds: float
    output_cap: int
    drop_prefix: bytes | None = None


class RunnerProcess:
    """A runner that this process started."""

    __slots__ = ("_life", "_pid")

    def __init__(self, pid: int, life: int) -> None:
        self._pid = pid
        self._life = life

    def wait(self, stop_fd: int | None) -> bool:
        """Sleep until the runner is gone (True) or `stop_fd` is readable (False; it can be waited for again).

        None: until it is gone, which its deadline bounds.

        Gone means reaped: every descriptor of it is closed, and the lock is ours alone.
        """
        if self._pid:
            if not _readable(self._life, stop_fd):
                return False
            os.waitpid(self._pid, 0)
            self._pid = 0
            self.close()
        return True

    def leave(self) -> None:
        """Stop following the runner, which goes on; `recover` reaps it when it has ended."""
        children.leave(self._pid)
        self.close()

    def close(self) -> None:
        """Close the descriptor by which its end is noticed."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1


def start(spool: Spool, launch: Launch, lock_fd: int) -> RunnerProcess:
    """Start a runner that holds `lock_fd` (a `flock`, whose own descriptor the caller keeps until he has committed).

    A run that cannot be started has the result `not_started`, as if the runner had found out: ENOTDIR says that the
    work dir is not there, every other number comes from the start itself. Raises OSError where the spool fails.
    """
    if not (launch.cwd.is_dir() and os.access(launch.cwd, os.X_OK)):
        return _not_started(spool, errno.ENOTDIR)
    files: list[int] = []
    life = -1
    try:
        files.append(os.open(spool.prompt, os.O_RDONLY | os.O_CLOEXEC))
        files.append(open_private(spool.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        files.append(open_private(spool.err, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        life, life_end = os.pipe()
        files.append(life_end)
        process = subprocess.Popen(
            _command(spool, launch, (lock_fd, life_end)),
            env=_environment(spool, launch),
            cwd=launch.cwd,
            stdin=files[0],
            stdout=files[1],
            stderr=files[2],
            pass_fds=(lock_fd, life_end),
            start_new_session=True,
        )
    except (OSError, ValueError) as exc:
        if life >= 0:
            os.close(life)
        number = exc.errno if isinstance(exc, OSError) else errno.EINVAL  # ValueError: a NUL in argv or env
        if number not in {errno.E2BIG, errno.EAGAIN, errno.ENOMEM, errno.EINVAL}:
            raise
        return _not_started(spool, number)
    finally:
        for fd in files:
            os.close(fd)
    process.returncode = 0  # we reap it by its pid; Popen need not mind, nor warn when it is handed over
    return RunnerProcess(process.pid, life)


def cancel(spool: Spool) -> None:
    """Ask for the end of a run, for good: the runner obeys now, or when it gets that far. No error where it is over."""
    _end(spool, "cancelled", signal.SIGUSR1)


def asked_to_cancel(spool: Spool) -> bool:
    """Whether a person asked for the end of this run."""
    try:
        with open_plain(spool.cancel) as file:
            return file.read() == b"cancelled"
    except FileNotFoundError:
        return False


def terminate(spool: Spool) -> None:
    """As `cancel`, with the ending `terminated`: the gateway ends, not the person."""
    _end(spool, "terminated", signal.SIGTERM)


def living_runner(spool: Spool) -> int | None:
    """The pid of the runner that carries this run; None where none lives (or it began a few milliseconds ago)."""
    system = tree.system()
    record = _record(spool.runner)
    if record is None or record.boot != system.boot() or system.start(record.pid) != record.start:
        return None
    return record.pid


def wait_for_runner(spool: Spool, stop_fd: int) -> bool:
    """As `RunnerProcess.wait`, for a runner that somebody else started. True where none lives or begins."""
    deadline = clock.monotonic() + BEGIN_SECONDS
    while _record(spool.runner) is None and spool.dir.is_dir() and clock.monotonic() < deadline:
        if select.select([stop_fd], (), (), 0.01)[0]:
            return False
    with _pidfd(living_runner(spool)) as fd:
        if fd is not None:
            return living_runner(spool) is None or _readable(fd, stop_fd)
    while living_runner(spool) is not None:
        if select.select([stop_fd], (), (), POLL_SECONDS)[0]:
            return False
    return True


class Recovered(enum.Enum):
    """What became of a run that has no result."""

    NEVER_STARTED = "never_started"
    KILLED = "killed"  # the agent may have done anything, and nothing of it lives
    UNKILLABLE = "unkillable"  # something of it lives on: the lock must be held, and nothing run


def recover(spool: Spool) -> Exited | Recovered:
    """What became of a run whose conversation's lock the caller holds. Ends what a killed runner left; at most 5 s.

    Only a spool without the agent's record proves that nothing ran. A record that cannot be read, or no spool at all
    (its folder was on disk before the run), proves nothing: KILLED.
    """
    children.reap()
    result = read_result(spool)
    if result is not None:
        return result
    if spool.proves_no_agent():
        return Recovered.NEVER_STARTED
    deadline = clock.monotonic() + KILL_SECONDS
    while (left := _survivors(spool)) or _locked(spool.agent):
        if clock.monotonic() >= deadline:
            return Recovered.UNKILLABLE
        for pid, start in left.items():
            _send(pid, start, signal.SIGKILL)
        time.sleep(0.01)
    return Recovered.KILLED


def caller_is_agent(spool_root: Path) -> bool:
    """Whether this process belongs to a run of the gateway with that spool: by its mark, or by its ancestors."""
    root = os.path.realpath(spool_root)
    mark = environ.get(tree.MARK)
    if mark and str(Path(os.path.realpath(mark)).parent) == root:
        return True
    table = tree.system().table()
    above = _ancestors(table)
    records = (_record(path) for path in Path(root).glob("*/runner"))
    return any(r is not None and r.pid in above and table[r.pid].start == r.start for r in records)


@dataclass(frozen=True, slots=True)
class Probe:
    """How a short program ended. `code` is None where it did not end by itself; `output` is both streams' beginning."""

    code: int | None
    errno: int | None
    output: str


def run_probe(argv: tuple[str, ...], *, env: dict[str, str], seconds: float = 10.0) -> Probe:
    """Run a program that answers at once (`--version`), with nothing on standard input; kill its group in time."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        except OSError as exc:
            return Probe(None, exc.errno, "")
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return Probe(code, None, output.read(PROBE_BYTES).decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class _Record:
    pid: int
    start: str
    boot: str


def _command(spool: Spool, launch: Launch, fds: tuple[int, int]) -> list[str]:
    return [
        *(sys.executable, "-I", "-S", "-c", _BOOT, _ROOT),
        str(spool.dir),
        *(str(fd) for fd in fds),
        str(launch.deadline_seconds),
        str(launch.grace_seconds),
        str(launch.output_cap),
        (launch.drop_prefix or b"").hex(),
        launch.env.get("LC_CTYPE", ""),
        environ.get("PUSH_SEAMS") or "",
        *launch.argv,
    ]


def _environment(spool: Spool, launch: Launch) -> dict[str, str]:
    given = {name: value for name, value in launch.env.items() if name != "PUSH_SEAMS"}
    return given | {tree.MARK: str(spool.dir)}


def _not_started(spool: Spool, number: int) -> RunnerProcess:
    write_result(spool, Exited("not_started", None, number, spool.out, spool.err))
    return RunnerProcess(0, -1)


def _end(spool: Spool, ending: str, number: signal.Signals) -> None:
    try:
        spool.cancel.hardlink_to(spool.dir / ending)  # whole at once, and a full disk does not refuse it
    except FileExistsError:  # hurrying again does no harm
        if ending == "cancelled" and not asked_to_cancel(spool):
            _outweigh(spool, ending)
    except FileNotFoundError:
        return
    record = _record(spool.runner)
    if record is not None and record.boot == tree.system().boot():
        _send(record.pid, record.start, number)


def _outweigh(spool: Spool, ending: str) -> None:
    """A person's wish takes the place of the gateway's: the run would be resumed else."""
    fresh = spool.dir / "cancel.new"
    with suppress(FileExistsError, FileNotFoundError):  # another one says the same, or it is over
        fresh.hardlink_to(spool.dir / ending)
        fresh.replace(spool.cancel)


def _send(pid: int, start: str, number: signal.Signals) -> None:
    """Signal exactly the process that began at `start`, and no later one of that pid."""
    with _pidfd(pid) as fd:
        if tree.system().start(pid) != start:
            return
        with suppress(ProcessLookupError, PermissionError):
            if fd is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(fd, number)


@contextmanager
def _pidfd(pid: int | None) -> Iterator[int | None]:
    """A descriptor of the process, which no later process can take over; None where there is no such thing."""
    fd = None
    if pid is not None and sys.platform == "linux":
        with suppress(OSError):
            fd = os.pidfd_open(pid)
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


def _readable(fd: int, stop_fd: int | None) -> bool:
    """Wait for either; whether it was `fd`."""
    poll = select.poll()
    for each in (fd, stop_fd):
        if each is not None:
            poll.register(each, select.POLLIN)
    return any(each == fd for each, _ in poll.poll())


def _record(path: Path) -> _Record | None:
    try:
        with open_plain(path) as file:
            pid, start, boot = file.read().decode("ascii").split()
        return _Record(int(pid), start, boot)
    except (OSError, ValueError):
        return None


def _locked(path: Path) -> bool:
    """Whether a process holds the record lock on this file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        return exc.errno in {errno.EAGAIN, errno.EACCES}
    finally:
        os.close(fd)
    return False


def _survivors(spool: Spool) -> dict[int, str]:
    """Who of the run lives, by proof only: recorded, marked, in the group of such a one, or below one."""
    system = tree.system()
    marked = system.marked(str(spool.dir))
    table = system.table()  # after the marks: who is marked and not in it has ended
    ours = {pid for pid, start in marked.items() if pid in table and table[pid].start == start}
    agent = _record(spool.agent)
    if any(record and record.boot == system.boot() for record in (agent, _record(spool.runner))):
        recorded = _recorded_tree(spool) | ({agent.pid: agent.start} if agent else {})
        ours |= {pid for pid, start in recorded.items() if pid in table and table[pid].start == start}
    if agent and any(table[pid].group == agent.pid for pid in ours):
        ours |= {pid for pid, row in table.items() if row.group == agent.pid}
    spared = {os.getpid(), *_ancestors(table)}  # a gateway that an agent started carries the mark as well
    ours -= spared
    ours |= tree.below(table, ours).keys() - spared
    return {pid: table[pid].start for pid in ours}


def _recorded_tree(spool: Spool) -> dict[int, str]:
    try:
        with open_plain(spool.tree) as file:
            lines = file.read().decode("ascii").splitlines()
    except (OSError, ValueError):
        return {}
    pairs = (line.partition(" ") for line in lines)
    return {int(pid): start for pid, _, start in pairs if pid.isdigit()}


def _ancestors(table: tree.Table) -> set[int]:
    found: set[int] = set()
    pid = os.getpid()
    while pid in table and pid not in found:
        found.add(pid)
        pid = table[pid].parent
    return found
