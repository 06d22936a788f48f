"""A home with real processes of Push on it: started, fed, killed, and looked at from outside.

Owns processes, the agent of the test and waiting for states; does not own verdicts (`tests.crash.verdict`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PUSH = (sys.executable, "-m", "push")
READY = "Push is "

#: Writes each message into a diary as one line, marked where Push says that it was interrupted, and answers.
AGENT = """#!/bin/sh
m=$(cat)
printf '%s%s\\n' "$m" "${PUSH_INTERRUPTED:+ (again)}" >> "$DIARY"
sleep 0.1
printf 're: %s\\n' "$m"
"""

#: As AGENT, but it answers only when the test opens the gate.
GATED_AGENT = """#!/bin/sh
m=$(cat)
printf '%s%s\\n' "$m" "${PUSH_INTERRUPTED:+ (again)}" >> "$DIARY"
while [ ! -e "$GATE" ]; do sleep 0.02; done
printf 're: %s\\n' "$m"
"""

#: Speaks claude's protocol, with sessions kept as files. Its diary says whether a session was begun or resumed.
SESSION_AGENT = """#!/bin/sh
[ "$1" = --version ] && echo 2.1.332 && exit
how=$4 id=$5
m=$(tail -n 1)
printf '%s %s\\n' "$how" "$m" >> "$DIARY"
if [ "$how" = --resume ] && [ ! -e "sessions/$id" ]; then
    echo "No conversation found with session ID: $id" >&2
    exit 1
fi
mkdir -p sessions
echo "$m" >> "sessions/$id"
printf '{"type":"result","is_error":false,"result":"re: %s","session_id":"%s"}\\n' "$m" "$id"
"""

_CONFIG = """\
channels = ["local"]
agent = "{kind}"
{program}
assistant_root = "{assistant}"
{more}
"""


class Process:
    """One process that the test started; what it prints goes to files."""

    def __init__(self, popen: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self._popen = popen
        self._out = out
        self._err = err
        self.pid = popen.pid

    @property
    def out(self) -> str:
        """What it printed so far."""
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        """What it printed on standard error so far."""
        return self._err.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether it lives."""
        return self._popen.poll() is None

    def wait(self, seconds: float = 30.0) -> int:
        """Its exit code; negative: the signal. Fails the test when it does not end in time."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s: {self._popen.args!r}\n{self.err}") from None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; none to a process that has ended."""
        self._popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait for its end."""
        self._popen.kill()
        self._popen.wait(10)

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self._popen.terminate()
        return self.wait()


@dataclass(frozen=True, slots=True)
class Row:
    """One turn as the database has it, with its reply."""

    id: int
    conversation: str
    text: str
    state: str
    attempt: int
    interruptions: int
    reason: str | None
    reply: str | None
    outbound: str | None
    repeat: int | None


class Site:
    """One home. `agent` is the text of a script, `kind` the agent it plays; `more` are further lines of config.toml."""

    def __init__(self, root: Path, *, agent: str = AGENT, kind: str = "command", more: str = "") -> None:
        self.root = root
        self.diary = root / "diary"
        self.gate = root / "gate"
        self.db = root / "push.db"
        self.agent = root / "agent.sh"
        self.assistant = root / "assistant"
        self.config = root / "config.toml"
        self.outside = Path(tempfile.mkdtemp(prefix="outside"))  # a full or closed home is not to hinder the test
        self._processes: list[Process] = []
        self._count = 0
        self.assistant.mkdir()
        (self.assistant / "SOUL.md").write_text("You are a test.\n")
        self.agent.write_text(agent)
        self.agent.chmod(0o755)
        self.configure(more, kind)

    def configure(self, more: str = "", kind: str = "command") -> None:
        """Write config.toml anew."""
        program = f'command = ["{self.agent}"]' if kind == "command" else f'{kind}_bin = "{self.agent}"'
        self.config.write_text(_CONFIG.format(kind=kind, program=program, assistant=self.assistant, more=more))

    # -- processes -----------------------------------------------------------------------------------------------

    def start(
        self,
        *words: str,
        seams: str = "",
        stdin: bytes | int = b"",
        stdout: int | None = None,
        env: dict[str, str] | None = None,
    ) -> Process:
        """Start `push WORDS`. `stdin` is what it reads, or a descriptor; `env` are further variables."""
        return self.spawn((*PUSH, *words), seams=seams, stdin=stdin, stdout=stdout, env=env)

    def spawn(
        self,
        argv: tuple[str, ...],
        *,
        seams: str = "",
        stdin: bytes | int = b"",
        stdout: int | None = None,
        env: dict[str, str] | None = None,
    ) -> Process:
        """Start any program with this home's environment."""
        self._count += 1
        out, err, source = (self.outside / f"{self._count}.{name}" for name in ("out", "err", "in"))
        if isinstance(stdin, bytes):
            source.write_bytes(stdin)
        given = os.environ | {"PUSH_HOME": str(self.root), "DIARY": str(self.diary), "GATE": str(self.gate)}
        given |= {"PUSH_SEAMS": seams} if seams else {}
        given |= env or {}
        with out.open("wb") as out_file, err.open("wb") as err_file:
            source_fd = os.open(source, os.O_RDONLY) if isinstance(stdin, bytes) else os.dup(stdin)
            popen = subprocess.Popen(argv, stdin=source_fd, stdout=stdout or out_file, stderr=err_file, env=given)
            os.close(source_fd)
        process = Process(popen, out, err)
        self._processes.append(process)
        return process

    def run(self, *words: str, stdin: bytes = b"", seconds: float = 30.0) -> Process:
        """Run `push WORDS` to its end."""
        process = self.start(*words, stdin=stdin)
        process.wait(seconds)
        return process

    def serve(self, *words: str, seams: str = "", env: dict[str, str] | None = None) -> Process:
        """Start a gateway (`run` by default), and wait until it is ready, or ended."""
        process = self.start(*(words or ("run",)), seams=seams, env=env)
        self.until_ready(process)
        return process

    def until_ready(self, process: Process) -> None:
        """Wait until a gateway says that it runs, or has ended."""
        self.until(lambda: READY in process.err or not process.is_running, "a gateway that is ready")

    def chat(self, user: str, *lines: str, seams: str = "") -> Process:
        """Start a terminal that reads these lines from a pipe."""
        return self.start("chat", "--user", user, seams=seams, stdin="".join(f"{line}\n" for line in lines).encode())

    def closed_chat(self, user: str, *words: str, seams: str = "") -> Process:
        """A terminal whose standard output is a pipe that nobody reads any more."""
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return self.start("chat", "--user", user, *words, seams=seams, stdout=writer)
        finally:
            os.close(writer)

    def say(self, user: str, *texts: str) -> None:
        """Commit messages without waiting for answers, in order."""
        for text in texts:
            process = self.run("chat", "--no-wait", "--user", user, text)
            assert process.wait() == 0, process.err

    def commit(self, *messages: tuple[str, str]) -> None:
        """Commit many (user, text) in order from one process, and ring for each."""
        process = self.spawn((sys.executable, "-m", "tests.crash.committer"), stdin=json.dumps(messages).encode())
        assert process.wait(60) == 0, process.err

    def cancel(self, turn_id: int, seams: str = "") -> Process:
        """Ask for the end of a turn, from a process of its own."""
        return self.start("turns", "cancel", str(turn_id), seams=seams)

    def listen(self, user: str) -> Process:
        """A new terminal of this user, which prints what is ready, and ends."""
        process = self.run("chat", "--user", user)
        assert process.wait() == 0, process.err
        return process

    def end_all(self) -> None:
        """Kill what still runs: our processes, and runners of this home."""
        for process in self._processes:
            if process.is_running:
                process.kill()
        for pid in self.runners().values():
            os.kill(pid, signal.SIGKILL)

    def runners(self) -> dict[str, int]:
        """Run -> pid of its runner, for those that live."""
        found = {}
        for record in (self.root / "spool").glob("t*/runner"):
            try:
                pid = int(record.read_text().split()[0])
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except (OSError, ValueError, IndexError):
                continue
            if str(record.parent).encode() in words:
                found[record.parent.name] = pid
        return found

    # -- states --------------------------------------------------------------------------------------------------

    def until(self, condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
        """Wait until `condition` holds; fails the test, with what the home looks like, when it does not in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {seconds} s in vain for {what}\n{self.describe()}")
            time.sleep(0.01)

    def query(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Read push.db with the standard library, read-only: it must not checkpoint. No rows before there is a file."""
        if not self.db.exists():
            return []
        with closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=5)) as connection:
            try:
                return connection.execute(sql, parameters).fetchall()
            except sqlite3.OperationalError as exc:
                if "no such table" in str(exc):
                    return []
                raise

    def make_due(self) -> None:
        """Let every postponement have passed."""
        with closing(sqlite3.connect(self.db, timeout=10)) as connection, connection:
            connection.execute("UPDATE turn SET not_before = 1 WHERE not_before IS NOT NULL")

    def turns(self) -> list[Row]:
        """Every turn in the order of acceptance."""
        sql = (
            "SELECT t.id, c.key, t.text, t.state, t.attempt, t.interruptions, t.reason, "
            "(SELECT group_concat(p.text, '') FROM part p WHERE p.outbound_id = o.id), o.state, o.repeat "
            "FROM turn t JOIN conversation c ON c.id = t.conversation_id LEFT JOIN outbound o ON o.turn_id = t.id "
            "ORDER BY t.id"
        )
        return [Row(*row) for row in self.query(sql)]

    def states(self) -> list[str]:
        """The state of every turn, in the order of acceptance."""
        return [state for (state,) in self.query("SELECT state FROM turn ORDER BY id")]

    def until_states(self, *states: str, seconds: float = 30.0) -> None:
        """Wait until the turns have exactly these states."""
        self.until(lambda: self.states() == list(states), f"states {states}", seconds)

    def until_settled(self, count: int, seconds: float = 30.0) -> None:
        """Wait until `count` turns were accepted and all have ended."""
        final = {"answered", "failed", "cancelled", "merged"}

        def settled() -> bool:
            states = self.states()
            return len(states) >= count and set(states) <= final

        self.until(settled, f"{count} settled turns", seconds)

    def entries(self) -> list[str]:
        """The lines of the agent's diary."""
        return self.diary.read_text().splitlines() if self.diary.exists() else []

    def describe(self) -> str:
        """What the home looks like, for a failed test."""
        lines = [str(row) for row in self.turns()]
        for process in self._processes:
            state = "running" if process.is_running else process.wait()
            lines.append(f"{process.pid} {state}: {process._popen.args!r}\n{process.err}")
        lines.append(f"spool: {sorted(str(p.relative_to(self.root)) for p in (self.root / 'spool').glob('*/*'))}")
        logs = (self.root / "logs").glob("*")
        lines += [f"{log.name}: {log.read_text()[-3000:]}" for log in logs]
        return "\n".join(lines)


@contextmanager
def site(root: Path, *, agent: str = AGENT, kind: str = "command", more: str = "") -> Iterator[Site]:
    """A site that leaves no process behind."""
    made = Site(root, agent=agent, kind=kind, more=more)
    try:
        yield made
    finally:
        made.end_all()
        shutil.rmtree(made.outside)
