"""The runner: a process of its own that carries one run of an agent to its end, whoever else dies.

Owns the agent's start, its deadline, its output, its end and its result; does not own what any of it means. Started by
`process.py`, which says why it is shaped so. It imports nothing that is slow: this is paid before every run. Its
standard input, output and error are the spool's files already, its folder and environment are the agent's.
"""

import _signal
import errno
import fcntl
import os
import select
import sys
import time

from push.agents import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from push.agents.linefilter import LineFilter

FIRST_TICK = 0.02  # seconds; doubles up to TICK while the output does not grow fast
TICK = 0.25
FAST_GROWTH = 1 << 20  # bytes in one tick after which the next look is soon
TREE_SECONDS = 1.0
KILL_SECONDS = 5.0  # what SIGKILL does not end within this, it does not end
PIPE_BYTES = 1 << 20  # no pipe holds more
RECORD_FD = 100  # where the agent's own lock lives: above the numbers that shells use

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_RESET = (
    _signal.SIGHUP,
    _signal.SIGINT,
    _signal.SIGTERM,
    _signal.SIGUSR1,
    _signal.SIGCHLD,
    _signal.SIGPIPE,
    _signal.SIGXFSZ,
)


class Run:
    """One run. `wish` is the ending that somebody asked for, empty while nobody did."""

    def __init__(self, arguments: list[str]) -> None:
        (self.spool, lock, life, deadline, grace, cap, prefix, self.locale, seams), self.argv = (
            arguments[:9],
            arguments[9:],
        )
        self.fds = (int(lock), int(life))
        self.deadline = self.began = time.monotonic()
        self.deadline += float(deadline)
        self.grace = float(grace)
        self.cap = int(cap)
        self.filter = _filter(bytes.fromhex(prefix)) if prefix else None
        self.seams = dict(item.split("=", 1) for item in seams.split(";") if "=" in item)
        self.pid = os.getpid()
        self.agent = 0
        self.status: int | None = None
        self.errno: int | None = None
        self.wish = ""
        self.terminated = self.is_reaper = False
        self.childless = False
        self.truncated = False
        self.size = 0
        self.seen: dict[int, str] = {}
        self.next_look = self.next_tree = 0.0
        self.tick = self.tree_tick = FIRST_TICK
        self.table = tree.system()
        self.prctl = Prctl()
        self.exec_fd = self.pipe_fd = -1
        self.wake_fd, self.wake_end = os.pipe()

    def execute(self) -> None:
        """From the first instruction to the result."""
        self.take_over()
        try:
            self.record(f"{self.spool}/runner")
            self.seam("runner.before_gate")
            self.look()
            if not self.wish:
                self.start_agent()
        except OSError as exc:
            self.errno = exc.errno
        if self.agent:
            while self.status is None and not self.wish:
                self.wait(min(self.next_look, self.deadline) - time.monotonic())
                self.reap()
                if self.status is None and time.monotonic() >= min(self.next_look, self.deadline):
                    self.look()
            if self.status is None:
                self.kill_tree()
        self.finish()

    # --- before the agent -------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the one who answers for this run: descriptors, signals, orphans."""
        for fd in self.fds:
            os.set_inheritable(fd, False)  # the lock and the life pipe are ours alone, never the agent's
        for fd in (self.wake_fd, self.wake_end):
            os.set_blocking(fd, False)
        _signal.set_wakeup_fd(self.wake_end, warn_on_full_buffer=False)
        for number in (_signal.SIGHUP, _signal.SIGINT):
            _signal.signal(number, _signal.SIG_IGN)
        for number in (_signal.SIGTERM, _signal.SIGUSR1, _signal.SIGCHLD):
            _signal.signal(number, self.on_signal)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        self.is_reaper = self.prctl.call(PR_SET_CHILD_SUBREAPER, 1)

    def on_signal(self, number: int, _frame: object) -> None:
        """SIGTERM asks for the end, SIGUSR1 for a look at the cancel file; SIGCHLD only wakes."""
        if number != _signal.SIGCHLD:
            self.terminated = self.terminated or number == _signal.SIGTERM
            self.next_look = 0.0

    def record(self, path: str) -> int:
        """Write who this process is. Returns a descriptor with a high number."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, RECORD_FD)
        finally:
            os.close(fd)  # before there is a lock: closing any descriptor of the file drops it
        fcntl.lockf(high, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(high, b"%d %s %s\n" % (os.getpid(), _word(self.table.start(os.getpid())), _word(self.table.boot())))
        return high

    def start_agent(self) -> None:
        """Fork; the child runs the agent once it is on disk who it is."""
        self.exec_fd, exec_end = os.pipe()
        pipe_end = -1
        if self.filter:
            self.pipe_fd, pipe_end = os.pipe()
            os.set_blocking(self.pipe_fd, False)
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _RESET)  # a signal between fork and exec is not to be lost
        self.began = time.monotonic()
        self.agent = os.fork()
        if self.agent == 0:
            self.become_agent(exec_end, pipe_end)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _RESET)
        os.close(exec_end)
        if pipe_end >= 0:
            os.close(pipe_end)

    def become_agent(self, exec_end: int, pipe_end: int) -> None:
        """In the child: the gate, then the agent. Does not return."""
        try:
            self.pass_gate()
            if pipe_end >= 0:
                os.dup2(pipe_end, 1)
            for number in _RESET:
                _signal.signal(number, _signal.SIG_DFL)  # an ignored signal would stay ignored in the agent
            _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
            os.execvp(self.argv[0], self.argv)
        except BaseException as exc:  # noqa: BLE001 - nothing of the runner may go on in the child
            number = getattr(exc, "errno", None) or errno.EIO
            os.write(exec_end, b"%d" % (errno.ENOENT if number == errno.ENOTDIR else number))
        finally:
            os._exit(127)

    def pass_gate(self) -> None:
        """No agent without a record on disk, and a lock on it that the kernel frees when the agent dies."""
        os.setpgid(0, 0)
        self.prctl.call(PR_SET_PDEATHSIG, _signal.SIGKILL)
        fd = self.record(f"{self.spool}/agent")
        os.set_inheritable(fd, True)
        _sync(fd)
        self.sync_folder()
        self.seam("runner.agent_recorded")
        if os.getppid() != self.pid:  # asked after the record: who recovers sees it, or this never ran
            os._exit(127)
        if self.locale:  # Python gave itself a UTF-8 locale; the agent gets what was given
            os.putenv("LC_CTYPE", self.locale)
        else:
            os.unsetenv("LC_CTYPE")

    # --- while it runs ----------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Sleep until something happens, at most `seconds`; take what the agent printed."""
        fds = [fd for fd in (self.wake_fd, self.exec_fd, self.pipe_fd) if fd >= 0]
        ready = select.select(fds, (), (), max(0.0, seconds))[0]
        if self.wake_fd in ready:
            os.read(self.wake_fd, 4096)
        if self.exec_fd in ready:
            self.read_exec()
        if self.pipe_fd in ready:
            self.read_pipe()

    def read_exec(self) -> None:
        """End of file: the agent's program runs. A number: why it does not."""
        text = os.read(self.exec_fd, 16)
        os.close(self.exec_fd)
        self.exec_fd = -1
        if text:
            self.errno = int(text)
        else:
            self.seam("runner.agent_started")

    def read_pipe(self) -> int:
        """Filter one piece of the agent's output into the spool. Returns its length, 0 where there is none."""
        try:
            data = os.read(self.pipe_fd, 1 << 16)
        except BlockingIOError:
            return 0
        assert self.filter
        self.keep(self.filter.feed(data))
        if not data:
            os.close(self.pipe_fd)
            self.pipe_fd = -1
        return len(data)

    def keep(self, data: bytes) -> None:
        """Write to the spool. A disk that takes no more ends the run, as too much output does."""
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            self.truncated = True
            self.wish = self.wish or "output_limit"

    def reap(self) -> None:
        """Collect the children that ended, our own and those that came to us as orphans."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self.agent:
                    self.status = status
        except ChildProcessError:
            self.childless = True

    def look(self) -> None:
        """Is it to end: asked to, too late, or too much output? Now and then, who is in the tree?"""
        now = time.monotonic()
        asked = _content(f"{self.spool}/cancel")
        if asked is not None:
            self.wish = "terminated" if asked == b"terminated" else "cancelled"
        elif self.terminated:
            self.wish = "terminated"
        elif self.over_cap():
            self.wish = "output_limit"
        elif now >= self.deadline:
            self.wish = "timed_out"
        if self.agent and now >= self.next_tree:
            self.next_tree = now + self.tree_tick
            self.tree_tick = min(TREE_SECONDS, self.tree_tick * 2)
            self.see_tree()
        self.next_look = now + self.tick
        self.tick = min(TICK, self.tick * 2)

    def over_cap(self) -> bool:
        """Whether more was printed than may be. Output that grows fast is looked at more often."""
        before, self.size = self.size, max(os.fstat(1).st_size, os.fstat(2).st_size)
        if self.size - before > FAST_GROWTH:
            self.tick = FIRST_TICK
        return self.size > self.cap

    def see_tree(self) -> None:
        """Remember who is below us, also for whoever cleans up when we are killed."""
        now = self.table.descendants(self.pid)
        new = {pid: start for pid, start in now.items() if self.seen.get(pid) != start}
        if new:
            self.seen.update(new)
            try:
                fd = os.open(f"{self.spool}/tree", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                os.write(fd, b"".join(b"%d %s\n" % (pid, start.encode()) for pid, start in new.items()))
                os.close(fd)
            except OSError:
                return  # a full disk: the mark in their environment is left

    # --- its end ----------------------------------------------------------------------------------------------------

    def kill_tree(self) -> None:
        """SIGTERM, the grace, SIGKILL, until nothing is left below us or nothing more can be done."""
        self.signal_tree(_signal.SIGTERM)
        end = time.monotonic() + self.grace
        while not self.tree_gone() and time.monotonic() < end and not self.over_cap():
            self.wait(min(end - time.monotonic(), FIRST_TICK))
        end = time.monotonic() + KILL_SECONDS
        while not self.tree_gone() and time.monotonic() < end:
            self.signal_tree(_signal.SIGKILL)
            self.wait(FIRST_TICK)

    def signal_tree(self, number: int) -> None:
        """Signal all that came from the agent."""
        self.see_tree()
        if self.status is None:
            _kill(-self.agent, number)
        for pid in self.living():
            _kill(pid, number)

    def living(self) -> list[int]:
        """Who of the run lives. A subreaper has them all below itself; without one, some may have gone elsewhere."""
        pids = self.table.descendants(self.pid)
        if not self.is_reaper:
            table = self.table.table()
            for pid, row in table.items():
                if self.seen.get(pid) == row.start or (pid != self.pid and _session(pid) == self.pid):
                    pids[pid] = row.start
        return list(pids)

    def tree_gone(self) -> bool:
        """Whether nothing of the run lives."""
        self.reap()
        return self.childless if self.is_reaper else self.status is not None and not self.living()

    def finish(self) -> None:
        """Output and result to disk; the name `result.json` appears last."""
        if self.exec_fd >= 0:
            self.read_exec()
        self.drain()
        if self.over_cap():
            self.wish = self.wish or "output_limit"
            for fd in (1, 2):
                os.ftruncate(fd, min(self.cap, os.fstat(fd).st_size))
            self.truncated = True
        self.seam("runner.agent_ended")
        for fd in (1, 2):
            _sync(fd)
        self.write_result()

    def drain(self) -> None:
        """What the agent had printed when it ended, and no more: somebody else may hold the pipe for ever."""
        taken = 0
        while self.pipe_fd >= 0 and taken < PIPE_BYTES:
            length = self.read_pipe()
            if not length:
                break
            taken += length
        if self.filter:
            self.keep(self.filter.end())

    def write_result(self) -> None:
        """The result as JSON, into the space that was kept for it; of numbers and our own words only."""
        started = self.agent and self.errno is None
        ending = "not_started" if self.errno is not None else self.wish or "exited"
        code = os.waitstatus_to_exitcode(self.status) if started and self.status is not None else None
        text = '{"ending": "%s", "code": %s, "errno": %s, "truncated": %s, "left": %d, "duration_ms": %d}' % (  # noqa: UP031
            ending,
            "null" if code is None else code,
            "null" if self.errno is None else self.errno,
            "true" if self.truncated else "false",
            len(self.living()),
            (time.monotonic() - self.began) * 1000,
        )
        temporary = f"{self.spool}/result.tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, text.encode())
        _sync(fd)
        self.seam("runner.before_rename")
        os.rename(temporary, f"{self.spool}/result.json")
        self.sync_folder()
        self.seam("runner.renamed")

    def sync_folder(self) -> None:
        """Make the names in the spool durable."""
        fd = os.open(self.spool, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)

    def seam(self, name: str) -> None:
        """As `push.seams.seam`, for the actions kill, sleep and pause."""
        verb, _, argument = self.seams.get(name, "").partition(":")
        if verb == "kill":
            os.kill(self.pid, _signal.SIGKILL)
            while os.getpid() != self.pid and os.getppid() == self.pid:
                time.sleep(0.001)  # in the child: until the runner is gone
        elif verb == "sleep":
            time.sleep(float(argument))
        elif verb == "pause":
            os.close(os.open(f"{argument}.reached", os.O_WRONLY | os.O_CREAT, 0o600))
            while not os.access(argument, os.F_OK):
                time.sleep(0.01)


class Prctl:
    """Linux's prctl(2), without the price of importing ctypes."""

    def __init__(self) -> None:
        self._function: "Callable[..., int] | None" = None
        if sys.platform == "linux":
            try:
                import _ctypes
            except ImportError:  # a Python without it: as on macOS
                return

            class Int(_ctypes._SimpleCData):
                _type_ = "i"

            class Function(_ctypes.CFuncPtr):
                _flags_ = _ctypes.FUNCFLAG_CDECL
                _restype_ = Int

            self._function = Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"))

    def call(self, option: int, value: int) -> bool:
        """Whether the kernel did it."""
        return self._function is not None and self._function(option, value, 0, 0, 0) == 0


def _filter(prefix: bytes) -> "LineFilter":
    from push.agents.linefilter import LineFilter

    return LineFilter(prefix)


def _word(text: str | None) -> bytes:
    return (text or "-").encode()


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(64)
    except OSError:
        return None


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:  # gone, or not ours to kill
        return


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _sync(fd: int) -> None:
    full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync alone leaves it in the drive
    if full is None:
        os.fsync(fd)
    else:
        fcntl.fcntl(fd, full)


def main(arguments: list[str]) -> None:
    """Run, and leave without the interpreter's slow goodbye."""
    run = Run(arguments)
    try:
        run.execute()
    except BaseException:  # noqa: BLE001 - no result: whoever comes next finds what is left, and says interrupted
        sys.excepthook(*sys.exc_info())
        if run.agent:
            run.kill_tree()
        os._exit(70)
    os._exit(0)
