"""The process table, as Linux shows it and as the `ps` of macOS prints it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from push.agents.tree import ProcFs, Ps, Row, below
from tests.agents.rig import until

BOTH = [ProcFs(), Ps()]

# As `ps` of macOS prints it: columns as wide as they need, lstart in five words, state with flags.
MACOS = b"""\
    1     0     1 Ss   Mon Nov  3 08:00:01 2025
  501     1   501 Ss   Mon Nov  3 08:01:00 2025
  777   501   777 S    Mon Nov  3 09:00:00 2025
  778   777   778 S+   Mon Nov  3 09:00:01 2025
  779   778   778 Z    Mon Nov  3 09:00:02 2025
 9000   778  9000 R    Sat Nov 15 23:59:59 2025
 9001  9000  9000 U    Sat Nov 15 23:59:59 2025
"""
MACOS_ENVIRONMENTS = b"""\
  PID COMMAND
  777 /usr/bin/python3 -I -S -c x PATH=/bin PUSH_RUN=/Users/ann/My Push/spool/t1-1 HOME=/Users/ann
  778 node /opt/claude HOME=/Users/ann PUSH_RUN=/Users/ann/My Push/spool/t1-1
  779 sh PUSH_RUN=/Users/ann/My Push/spool/t1-1
  801 sh PUSH_RUN=/Users/ann/My Push/spool/t1-10 HOME=/
 9000 sh
"""


class RecordedPs(Ps):
    """A `ps` that prints what it printed once."""

    def ask(self, *arguments: str) -> bytes:
        return MACOS if arguments[0] == "-axo" else MACOS_ENVIRONMENTS


def test_the_table_of_macos() -> None:
    table = RecordedPs().table()
    assert set(table) == {1, 501, 777, 778, 9000, 9001}, "a zombie is dead"
    assert (table[778].parent, table[778].group, table[778].start) == (777, 778, "Mon_Nov_3_09:00:01_2025")
    assert RecordedPs().start(778) == "Mon_Nov_3_09:00:01_2025"
    assert RecordedPs().start(779) is None
    assert RecordedPs().descendants(777).keys() == {778, 9000, 9001}


def test_marks_on_macos_are_whole_values() -> None:
    assert RecordedPs().marked("/Users/ann/My Push/spool/t1-1").keys() == {777, 778}


def test_descendants_of_a_table_that_bites_its_tail() -> None:
    table = {1: Row(2, 1, "a"), 2: Row(1, 1, "b"), 3: Row(2, 3, "c")}
    assert below(table, {1}) == {1: "a", 2: "b", 3: "c"}
    assert below({}, {1}) == {}


@pytest.mark.parametrize("system", BOTH, ids=["proc", "ps"])
def test_a_process_is_found_and_forgotten(system: ProcFs | Ps) -> None:
    child = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
    try:
        start = system.start(child.pid)
        assert start
        row = system.table()[child.pid]
        assert (row.parent, row.group, row.start) == (os.getpid(), child.pid, start)
        until(lambda: len(system.descendants(os.getpid())) == 2)
        assert system.descendants(os.getpid())[child.pid] == start
    finally:
        os.killpg(child.pid, 9)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert system.start(child.pid) is None, "a zombie is dead"
        assert child.pid not in system.table()
        child.wait()
    assert system.start(child.pid) is None


def test_both_tables_hold_the_same() -> None:
    mine = os.getpid()
    proc, ps = ProcFs().table(), Ps().table()
    assert (proc[mine].parent, proc[mine].group) == (ps[mine].parent, ps[mine].group)
    assert not any(pid in ps for pid in Ps().descendants(mine)), "ps does not list itself"


def test_a_mark_is_found_whole_and_only_in_the_living() -> None:
    mark = f"/nowhere/{os.getpid()}/t1-1"
    env = dict(os.environ)
    child = subprocess.Popen(["sleep", "600"], env=env | {"PUSH_RUN": mark})
    other = subprocess.Popen(["sleep", "600"], env=env | {"PUSH_RUN": mark + "0", "X": f"PUSH_RUN={mark}"})
    try:
        found = until(lambda: ProcFs().marked(mark))
        assert found == {child.pid: ProcFs().start(child.pid)}
    finally:
        for process in (child, other):
            process.kill()
            process.wait()


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_a_name_with_parentheses_and_a_kernel_without_children_files(tmp_path: Path) -> None:
    tail = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
    _write(tmp_path, "5/stat", f"5 (a) Z (\n) S 1 5 5 {tail} 77 0")
    _write(tmp_path, "6/stat", f"6 (b) S 5 5 5 {tail} 78 0")
    _write(tmp_path, "7/stat", f"7 (c) Z 6 5 5 {tail} 79 0")
    _write(tmp_path, "8/stat", "8 (torn) S 6")
    system = ProcFs(str(tmp_path))
    table = system.table()
    assert {pid: (row.parent, row.group) for pid, row in table.items()} == {5: (1, 5), 6: (5, 5)}
    assert system.descendants(5) == {6: system.start(6)}


def test_the_child_of_one_that_ended_during_the_search_is_found(tmp_path: Path) -> None:
    class Busy(ProcFs):
        listings = iter([{5}, {6}, {6}])

        def _pids(self) -> set[int]:
            return next(self.listings)

    _write(tmp_path, "6/environ", "A=1\0PUSH_RUN=/spool/t1-1\0")
    _write(tmp_path, "6/stat", f"6 (b) S 1 6 6 {' '.join('0' * 16)} 78 0")
    assert Busy(str(tmp_path)).marked("/spool/t1-1").keys() == {6}
