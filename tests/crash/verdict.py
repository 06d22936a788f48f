"""What must hold on a home, found without Push's own means: its database through the standard library, its files.

Owns the rules that hold after every scenario; does not own what a single scenario expects on top.
"""

from __future__ import annotations

import stat
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from push.model.machines import MACHINES
from tests.crash.site import Site

_ENDED = {"answered", "failed", "cancelled", "merged"}
_REPLIED = {"answered", "failed"}


def findings(site: Site) -> list[str]:
    """What is wrong with a home on which nothing is open any more; empty when all is well."""
    return [*_turns(site), *_outbound(site), *_histories(site), *_order(site), *_spool(site), *_modes(site.root)]


def check(site: Site) -> None:
    """Fail the test where anything is wrong; `push verify` must agree. The spool is emptied just after the commit."""
    site.until(lambda: not list((site.root / "spool").glob("*")), "an empty spool", 10)
    found = findings(site)
    assert not found, "\n".join([*found, site.describe()])
    verified = site.run("verify")
    assert verified.wait() == 0, verified.out + verified.err


def _turns(site: Site) -> list[str]:
    rows = site.turns()
    found = [f"turn {row.id} is still {row.state}" for row in rows if row.state not in _ENDED]
    found += [
        f"turn {row.id} is {row.state} without a reply" for row in rows if row.state in _REPLIED and not row.reply
    ]
    found += [f"turn {row.id} is {row.state} with a reply" for row in rows if row.state not in _REPLIED and row.reply]
    return found


def _outbound(site: Site) -> list[str]:
    found = [
        f"{count} outbound rows for turn {turn}"
        for turn, count in site.query("SELECT turn_id, count(*) FROM outbound GROUP BY turn_id HAVING count(*) > 1")
    ]
    found += [
        f"outbound {row} is delivered, part {seq} has no receipt"
        for row, seq in site.query(
            "SELECT o.id, p.seq FROM outbound o JOIN part p ON p.outbound_id = o.id "
            "WHERE o.state = 'delivered' AND (p.receipt IS NULL OR p.delivered_at IS NULL)"
        )
    ]
    found += [
        f"outbound {row} has no part"
        for (row,) in site.query("SELECT id FROM outbound WHERE id NOT IN (SELECT outbound_id FROM part)")
    ]
    return found


def _histories(site: Site) -> list[str]:
    """Each row's history begins at birth, follows the machine's table without a gap, and ends in the row's state."""
    histories: dict[tuple[str, int], list[tuple[str | None, str, str]]] = defaultdict(list)
    states: dict[tuple[str, int], str] = {}
    sql = (  # one statement sees one moment: a row may move meanwhile
        "SELECT machine, row_id, source, target, actor, NULL, id FROM transition UNION ALL "
        "SELECT 'turn', id, NULL, NULL, NULL, state, 0 FROM turn UNION ALL "
        "SELECT 'outbound', id, NULL, NULL, NULL, state, 0 FROM outbound ORDER BY 7"
    )
    for machine, row, source, target, actor, state, _ in site.query(sql):
        if state is not None:
            states[machine, row] = state
        else:
            histories[machine, row].append((source, target, actor))
    found = [f"{key} has no history" for key in states.keys() - histories.keys()]
    for key, steps in histories.items():
        found += _history(key, steps, states.get(key))
    return found


def _history(key: tuple[str, int], steps: list[tuple[str | None, str, str]], state: str | None) -> list[str]:
    machine = MACHINES[key[0]]
    found = []
    if steps[0][0] is not None or steps[0][1] not in machine.first:
        found.append(f"{key} was not born: {steps[0]}")
    found += [f"{key}: {a} is followed by {b}" for a, b in pairwise(steps) if a[1] != b[0]]
    found += [f"{key}: no such edge {s}" for s in steps[1:] if not machine.allows(str(s[0]), s[1], s[2])]
    if steps[-1][1] != state:
        found.append(f"{key} is {state}, its history ends in {steps[-1][1]}")
    return found


def _order(site: Site) -> list[str]:
    """Within a conversation, a turn first runs after every earlier one has ended."""
    sql = (
        "SELECT t.conversation_id, t.id, min(CASE WHEN x.target = 'running' THEN x.id END), "
        "max(CASE WHEN x.target IN ('answered','failed') THEN x.id END) "
        "FROM turn t JOIN transition x ON x.machine = 'turn' AND x.row_id = t.id "
        "WHERE t.lane = 'turns' AND NOT t.ahead GROUP BY t.id ORDER BY t.id"
    )
    found = []
    ended: dict[int, int] = defaultdict(int)
    for conversation, turn, started, finished in site.query(sql):
        if started is not None and started < ended[conversation]:
            found.append(f"turn {turn} began before an earlier one of its conversation had ended")
        ended[conversation] = max(ended[conversation], finished or 0)
    return found


def _spool(site: Site) -> list[str]:
    return [f"left in the spool: {folder.name}" for folder in (site.root / "spool").glob("*")]


def _modes(root: Path) -> list[str]:
    names = ("push.db", "queue.db", "audit.jsonl", "state.json", "spool", "run", "logs")
    paths = [root / f"{name}{suffix}" for name in names for suffix in ("", "-wal", "-shm")]
    opened = [path for path in paths if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    return [f"{path.name} can be read by others: {path.stat().st_mode:o}" for path in opened]
