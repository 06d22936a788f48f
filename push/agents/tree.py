"""The process table: who descends from whom, who carries a run's mark, and when each process began.

Does not own what is done with them (`runner.py`, `process.py`). The runner imports this module, so it imports next to
nothing. A process is named by its pid and its start together: pids are used again, pairs are not. A zombie is dead.
"""

import os
import sys

#: The variable that every process of a run inherits; its value is the run's spool folder.
MARK = "PUSH_RUN"

#: The word of a machine that does not tell its boots apart.
NO_BOOT = "-"

STARTTIME = 19  # its place in /proc/PID/stat, counted behind the name


class Row:
    """One living process. `start` is a word that differs for every later process of the same pid."""

    __slots__ = ("group", "parent", "start")

    def __init__(self, parent: int, group: int, start: str) -> None:
        self.parent = parent
        self.group = group
        self.start = start


Table = dict[int, Row]


class ProcFs:
    """The table as Linux shows it. Starts are clock ticks since the boot, so a record names the boot as well."""

    def __init__(self, root: str = "/proc") -> None:
        self._root = root

    def boot(self) -> str:
        """A word for this boot of the machine."""
        return self._read("sys/kernel/random/boot_id").decode().strip()

    def start(self, pid: int) -> str | None:
        """When `pid` began; None where it is dead."""
        row = self._row(pid)
        return row.start if row else None

    def table(self) -> Table:
        """Every living process."""
        rows = ((pid, self._row(pid)) for pid in self._pids())
        return {pid: row for pid, row in rows if row}

    def descendants(self, pid: int) -> dict[int, str]:
        """The living processes below `pid`, with their starts; cheap enough for every second (20 us)."""
        if not os.access(f"{self._root}/{os.getpid()}/task/{os.getpid()}/children", os.R_OK):
            return below(self.table(), {pid})  # a kernel without CONFIG_PROC_CHILDREN
        found: dict[int, str] = {}
        waiting = [pid]
        while waiting:
            for child in self._children(waiting.pop()):
                row = self._row(child) if child not in found else None
                if row:
                    found[child] = row.start
                    waiting.append(child)
        return found

    def marked(self, mark: str) -> dict[int, str]:
        """The living processes whose environment held the mark at first, or who print into the folder that it names."""
        found = {}
        looked_at: set[int] = set()
        while new := self._pids() - looked_at:  # the child of one that ended meanwhile is new
            for pid in new:
                row = self._row(pid) if self._is_marked(pid, mark) else None
                if row:
                    found[pid] = row.start
            looked_at |= new
        return found

    def _pids(self) -> set[int]:
        return {int(name) for name in os.listdir(self._root) if name.isdigit()}

    def _is_marked(self, pid: int, mark: str) -> bool:
        if os.fsencode(f"{MARK}={mark}") in self._read(f"{pid}/environ").split(b"\0"):
            return True
        for number in (1, 2):
            try:
                if os.readlink(f"{self._root}/{pid}/fd/{number}").startswith(f"{mark}/"):
                    return True
            except OSError:  # closed, ended, or another user's
                continue
        return False

    def _read(self, name: str) -> bytes:
        try:
            with open(f"{self._root}/{name}", "rb") as file:
                return file.read()
        except OSError:  # ended meanwhile, or another user's
            return b""

    def _row(self, pid: int) -> Row | None:
        # The name in parentheses may hold anything, parentheses and newlines too.
        fields = self._read(f"{pid}/stat").rpartition(b")")[2].split()
        if len(fields) <= STARTTIME or fields[0] in (b"Z", b"X"):
            return None
        return Row(int(fields[1]), int(fields[2]), fields[STARTTIME].decode())

    def _children(self, pid: int) -> list[int]:
        try:
            threads = os.listdir(f"{self._root}/{pid}/task")
        except OSError:
            return []
        return [int(child) for thread in threads for child in self._read(f"{pid}/task/{thread}/children").split()]


class Ps:
    """The table as `ps` of macOS prints it. Starts are dates with seconds, so no boot is needed to tell them apart."""

    def boot(self) -> str:
        """A word for this boot of the machine: always the same one."""
        return NO_BOOT

    def start(self, pid: int) -> str | None:
        """When `pid` began; None where it is dead."""
        row = self.table().get(pid)
        return row.start if row else None

    def table(self) -> Table:
        """Every living process."""
        table: Table = {}
        for line in self.ask("-axo", "pid=,ppid=,pgid=,stat=,lstart=").splitlines():
            pid, parent, group, state, *start = line.split()
            if not state.startswith(b"Z"):
                table[int(pid)] = Row(int(parent), int(group), b"_".join(start).decode())
        return table

    def descendants(self, pid: int) -> dict[int, str]:
        """The living processes below `pid`, with their starts (6 ms)."""
        return below(self.table(), {pid})

    def marked(self, mark: str) -> dict[int, str]:
        """The living processes whose environment holds the mark, as far as the system shows environments."""
        wanted = os.fsencode(f" {MARK}={mark} ")
        table = self.table()
        pids = [
            int(line.split(None, 1)[0])
            for line in self.ask("-axEwwo", "pid=,command=").splitlines()
            if wanted in line + b" "
        ]
        return {pid: table[pid].start for pid in pids if pid in table}

    def ask(self, *arguments: str) -> bytes:
        """What `ps` prints, without the line about itself. In UTC, so that no change of zone moves a start."""
        reader, writer = os.pipe()
        redirect = [(os.POSIX_SPAWN_DUP2, writer, 1)]
        try:  # the runner has no subprocess
            pid = os.posix_spawn("/bin/ps", ("ps", *arguments), {"LC_ALL": "C", "TZ": "UTC"}, file_actions=redirect)
        except OSError:  # no process may be started any more: there is still somebody to kill
            os.close(reader)
            return b""
        finally:
            os.close(writer)
        with open(reader, "rb") as file:
            text = file.read()
        os.waitpid(pid, 0)
        return b"\n".join(line for line in text.splitlines() if line.split(None, 1)[:1] != [b"%d" % pid])


def below(table: Table, pids: set[int]) -> dict[int, str]:
    """The descendants of `pids` in `table`, with their starts."""
    children: dict[int, list[int]] = {}
    for pid, row in table.items():
        children.setdefault(row.parent, []).append(pid)
    found: dict[int, str] = {}
    waiting = list(pids)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found[child] = table[child].start
                waiting.append(child)
    return found


def system() -> ProcFs | Ps:
    """The process table of this machine."""
    return ProcFs() if sys.platform == "linux" else Ps()
