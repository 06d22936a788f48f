"""The runner: a process of its own that carries one run of an agent to its end, whoever else dies.

Owns the agent's start, its deadline, its end and the result; does not own what any of it means. Started by
`process.py`. Its standard input, output and error are the spool's files, its folder and environment are the agent's.
Why it exists, and why the gate: docs/adr/0002-lock-runner-gate.md.

It is paid before every answer, so it imports nothing that is slow: no subprocess, signal, json, pathlib, threading.
"""

import errno
import fcntl
import os
import select
import sys
import time

from push.agents.family import Family
from push.agents.output import Output, sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

FIRST_TICK = 0.02  # seconds between two looks; doubles up to TICK while the output does not grow fast
TICK = 0.25
TREE_TICK = 1.0  # likewise, for the record of the processes
KILL_TICK = 0.02
KILL_SECONDS = 5.0  # what SIGKILL does not end within this, it does not end
RECORD_FD = 100  # where the agent's own lock lives: above the numbers that shells use

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
    """One run. `wish` is the ending that it is to have, empty while the agent may choose its own."""

    def __init__(self, arguments: list[str]) -> None:
        self.spool, lock, life, deadline, grace, cap, prefix, self.locale, seams = arguments[:9]
        self.argv = arguments[9:]
        self.inherited = (int(lock), int(life))
        self.began = time.monotonic()
        self.deadline = self.began + float(deadline)
        self.grace = float(grace)
        self.seams = dict(item.split("=", 1) for item in seams.split(";") if "=" in item)
        self.pid = os.getpid()
        self.family = Family(f"{self.spool}/tree")
        self.output = Output(int(cap), bytes.fromhex(prefix))
        self.wish = ""
        self.errno: int | None = None  # why there is no agent
        self.terminated = self.hurried = False
        self.next_look = self.next_tree = 0.0
        self.tick = self.tree_tick = FIRST_TICK
        self.exec_fd = -1
        self.wake_fd, self.wake_end = os.pipe()

    def execute(self) -> None:
        """From the first instruction to the result."""
        self.take_over()
        try:
            self.record("runner")
            self.seam("runner.before_gate")
            self.look()
            if not self.wish:
                self.start_agent()
        except OSError as exc:
            self.errno = exc.errno
        if self.family.agent:
            self.follow()
        self.finish()

    # --- before the agent -------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the one who answers for this run: descriptors, signals, orphans."""
        for fd in self.inherited:
            os.set_inheritable(fd, False)  # the lock and the life pipe are ours, and never the agent's
        for fd in (self.wake_fd, self.wake_end):
            os.set_blocking(fd, False)
        _signal.set_wakeup_fd(self.wake_end, warn_on_full_buffer=False)
        for number in (_signal.SIGHUP, _signal.SIGINT):
            _signal.signal(number, _signal.SIG_IGN)
        for number in (_signal.SIGTERM, _signal.SIGUSR1, _signal.SIGCHLD):
            _signal.signal(number, self.on_signal)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        self.family.adopt_orphans()

    def on_signal(self, number: int, _frame: object) -> None:
        """SIGTERM asks for the end, SIGUSR1 for a look at the cancel file; SIGCHLD only wakes."""
        if number != _signal.SIGCHLD:
            self.terminated = self.terminated or number == _signal.SIGTERM
            self.hurried = True

    def record(self, name: str) -> int:
        """Write who this process is into the spool, locked as long as it lives. Returns the descriptor."""
        fd = os.open(f"{self.spool}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, RECORD_FD)
        finally:
            os.close(fd)  # before there is a lock: closing any descriptor of the file drops it
        fcntl.lockf(high, fcntl.LOCK_EX | fcntl.LOCK_NB)
        pid, table = os.getpid(), self.family.table
        os.write(high, f"{pid} {table.start(pid)} {table.boot()}\n".encode())
        return high

    def start_agent(self) -> None:
        """Fork; the child becomes the agent once it is on disk who it is."""
        self.exec_fd, exec_end = os.pipe()
        pipe_end = self.output.open_pipe()
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _RESET)  # a signal between fork and exec is not to be lost
        self.began = time.monotonic()
        self.family.agent = os.fork()
        if self.family.agent == 0:
            self.become_agent(exec_end, pipe_end)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _RESET)
        for fd in (exec_end, pipe_end):
            if fd >= 0:
                os.close(fd)

    def become_agent(self, exec_end: int, pipe_end: int) -> None:
        """In the child: the gate, then the agent. Does not return."""
        try:
            self.pass_gate()
            if pipe_end >= 0:
                os.dup2(pipe_end, 1)
            for each in _RESET:
                _signal.signal(each, _signal.SIG_DFL)  # what is ignored would stay so in the agent
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
        self.family.die_with_runner()
        fd = self.record("agent")
        os.set_inheritable(fd, True)
        sync(fd)
        self.sync_folder()
        self.seam("runner.agent_recorded")
        if os.getppid() != self.pid:  # asked after the record: either who recovers sees it, or this never runs
            os._exit(127)
        if self.locale:  # Python may have given itself another one; the agent gets what it was given
            os.putenv("LC_CTYPE", self.locale)
        else:
            os.unsetenv("LC_CTYPE")

    # --- while it runs ----------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Until the agent has ended, by itself or by us."""
        while not self.family.reap() and not self.wish:
            due = min(self.next_look, self.deadline)
            self.wait(due - time.monotonic())
            if (self.hurried or time.monotonic() >= due) and not self.family.reap():
                self.hurried = False
                self.look()
        if not self.family.reap():
            self.kill_tree()
        elif self.terminated and self.family.status and not self.wish:
            self.wish = "terminated"  # whoever asked us for the end has asked the agent too, and it was quicker

    def wait(self, seconds: float) -> None:
        """Sleep until something happens, at most so long; take what was printed."""
        fds = [fd for fd in (self.wake_fd, self.exec_fd, self.output.pipe) if fd >= 0]
        ready = select.select(fds, (), (), max(0.0, seconds))[0]
        if self.wake_fd in ready:
            os.read(self.wake_fd, 4096)
        if self.exec_fd in ready:
            self.read_exec()
        if self.output.pipe in ready:
            self.output.take()

    def read_exec(self) -> None:
        """End of file: the agent's program runs, or died at the gate. A number: why it does not."""
        text = os.read(self.exec_fd, 16)
        os.close(self.exec_fd)
        self.exec_fd = -1
        if text:
            self.errno = int(text)
        else:
            self.seam("runner.agent_started")

    def look(self) -> None:
        """Whether it is to end: asked to, too much output, too late. Now and then, who is there."""
        now = time.monotonic()
        asked = self.read_cancel()
        if asked is not None:
            self.wish = "terminated" if asked == b"terminated" else "cancelled"
        elif self.terminated:
            self.wish = "terminated"
        elif self.output.is_over():
            self.wish = "output_limit"
        elif now >= self.deadline:
            self.wish = "timed_out"
        if self.family.agent and now >= self.next_tree:
            self.family.see()
            self.next_tree = now + self.tree_tick
            self.tree_tick = min(TREE_TICK, self.tree_tick * 2)
        self.tick = FIRST_TICK if self.output.grows_fast else min(TICK, self.tick * 2)
        self.next_look = now + self.tick

    def read_cancel(self) -> bytes | None:
        """The ending that somebody asked for; None where nobody did."""
        try:
            with open(f"{self.spool}/cancel", "rb") as file:
                return file.read(64)
        except OSError:
            return None

    # --- its end ----------------------------------------------------------------------------------------------------

    def kill_tree(self) -> None:
        """SIGTERM, the grace, SIGKILL, until nothing of the run lives or nothing more can be done."""
        self.family.signal(_signal.SIGTERM)
        end = time.monotonic() + self.grace
        while not self.family.is_gone() and time.monotonic() < end and not self.output.is_over():
            self.wait(min(end - time.monotonic(), KILL_TICK))
        end = time.monotonic() + KILL_SECONDS
        while not self.family.is_gone() and time.monotonic() < end:
            self.family.signal(_signal.SIGKILL)
            self.wait(KILL_TICK)

    def finish(self) -> None:
        """Output and result to disk; the name `result.json` appears last."""
        if self.exec_fd >= 0:
            self.read_exec()
        self.output.drain()
        if self.output.is_over():
            self.wish = self.wish or "output_limit"
            self.output.truncate()
        self.seam("runner.agent_ended")
        self.output.sync()
        temporary = f"{self.spool}/result.tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600)  # not emptied: its space was kept for this
        os.write(fd, self.result().encode())
        sync(fd)
        self.seam("runner.before_rename")
        os.rename(temporary, f"{self.spool}/result.json")
        self.sync_folder()
        self.seam("runner.renamed")

    def result(self) -> str:
        """The result as JSON: numbers and our own words only."""
        status = self.family.status if self.errno is None else None
        code = "null" if status is None else os.waitstatus_to_exitcode(status)
        why = "null" if self.errno is None else self.errno
        ending = (self.wish or "exited") if self.errno is None else "not_started"
        truncated = "true" if self.output.truncated else "false"
        duration = int((time.monotonic() - self.began) * 1000)
        return (
            f'{{"ending": "{ending}", "code": {code}, "errno": {why}, "truncated": {truncated},'
            f' "left": {len(self.family.living())}, "duration_ms": {duration}}}'
        )

    def sync_folder(self) -> None:
        """Make the names in the spool durable."""
        fd = os.open(self.spool, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)

    def seam(self, name: str) -> None:
        """As `push.seams.seam`, for the actions kill, sleep and pause."""
        verb, _, argument = self.seams.get(name, "").partition(":")
        if verb == "kill" and (not argument or is_first(argument)):
            os.kill(self.pid, _signal.SIGKILL)
            while os.getpid() != self.pid and os.getppid() == self.pid:
                time.sleep(0.001)  # in the child: until the runner is gone
        elif verb == "sleep":
            time.sleep(float(argument))
        elif verb == "pause":
            os.close(os.open(f"{argument}.reached", os.O_WRONLY | os.O_CREAT, 0o600))
            while not os.access(argument, os.F_OK):
                time.sleep(0.01)


def is_first(file: str) -> bool:
    """Whether it is us who created `file`: what is to happen once, in one of many runs."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def main(arguments: list[str]) -> None:
    """Run, and leave without the interpreter's slow goodbye."""
    run = Run(arguments)
    try:
        run.execute()
    except BaseException:  # noqa: BLE001 - without a result: who comes next says that it was interrupted
        sys.excepthook(*sys.exc_info())
        if run.family.agent:
            run.kill_tree()
        os._exit(70)
    os._exit(0)
