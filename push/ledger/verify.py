"""The proof behind `push verify`: what push.db and state.json promise, and every damage to it, by name.

Owns that all is asked of one snapshot, in bounded memory, beside a running gateway; does not own the questions
(`push.ledger.checks`, `push.ledger.histories`), nor reading state.json, which is read *before* this is called: a
session is saved before its answer is committed, never after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from push.errors import PushError
from push.ledger import arrivals, engine, histories
from push.ledger.arrivals import Reading
from push.ledger.checks import CHECKS
from push.ledger.database import Database
from push.ledger.histories import Fault
from push.ledger.schema import MIGRATIONS
from push.model.values import Session

_TABLE_GONE = "it is not there, so that nothing else can be asked"

_TERMINAL = "local"  # the channel that no earlier implementation had, and that has no cursor

#: Damages of one code that are named; of a file in ruins the rest is only counted.
MOST = 100


@dataclass(frozen=True, slots=True)
class Damage:
    """One broken promise: a stable code, the row, and a sentence without any message's text."""

    code: str
    row: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked at, and every damage. `omitted` counts, per code, those that are not named."""

    turns: int
    deliveries: int
    damages: tuple[Damage, ...]
    omitted: dict[str, int]


class _Findings:
    """Damages as they are found, at most `MOST` of a code."""

    def __init__(self) -> None:
        self._found: list[Damage] = []
        self._counts: Counter[str] = Counter()

    def take(self, faults: Iterable[Fault]) -> None:
        """Keep what is found, also where the file breaks in the middle."""
        with self.surviving():
            for fault in faults:
                self._counts[fault[0]] += 1
                if self._counts[fault[0]] <= MOST:
                    self._found.append(Damage(*fault))

    @contextmanager
    def surviving(self) -> Iterator[None]:
        """A file that SQLite cannot read is a damage like others."""
        try:
            yield
        except PushError as exc:
            if exc.code != "ledger_damaged":
                raise
            if not self._counts["file_damaged"]:
                self._counts["file_damaged"] += 1
                self._found.append(unreadable())

    @property
    def tables_are_there(self) -> bool:
        """Whether the other questions can be asked at all."""
        return not any(
            found.code == "file_damaged" or (found.code, found.sentence) == ("schema", _TABLE_GONE)
            for found in self._found
        )

    def proof(self, turns: int, deliveries: int) -> Proof:
        """The result."""
        omitted = {code: count - MOST for code, count in self._counts.items() if count > MOST}
        return Proof(turns, deliveries, tuple(self._found), omitted)


def unreadable() -> Damage:
    """The damage of a file of which SQLite cannot read a part, or anything."""
    return Damage("file_damaged", "push.db", "SQLite cannot read it: it is damaged, or no database at all")


def verify(
    db: Database, sessions: Mapping[str, Session], cursors: Sequence[Reading], watch: Callable[[str], None]
) -> Proof:
    """Ask everything. `watch` is told what is being looked at. A minute or so for a million turns; writes nothing.

    `cursors` is how far state.json says that each channel was read; an owner of "" is not known.
    """
    findings = _Findings()
    counts = [0, 0]
    with findings.surviving(), db.snapshot():  # in ruins, the end of the snapshot fails as well
        watch("the file")
        findings.take(_schema_faults(db))
        if not findings.tables_are_there:
            return findings.proof(0, 0)
        findings.take(_file_faults(db))
        watch("turns")
        findings.take(histories.turn_faults(db, watch))
        watch("deliveries")
        findings.take(histories.delivery_faults(db, watch))
        for check in CHECKS:
            watch(check.code.replace("_", " "))
            rows = db.each(check.sql)
            findings.take((check.code, check.row.format(*row), check.sentence.format(*row)) for row in rows)
        watch("state.json")
        findings.take(_session_faults(db, sessions))
        findings.take(_cursor_faults(db, cursors))
        counts = [number for (number,) in db.rows("SELECT count(*) FROM turn UNION ALL SELECT count(*) FROM outbound")]
    return findings.proof(*counts)


def _schema_faults(db: Database) -> Iterator[Fault]:
    """Tables and indexes are those of the migrations, to the letter: CHECK and UNIQUE are promises too."""
    wanted = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    model = engine.peewee_database(Path(":memory:"), {}, 1)
    for statements in MIGRATIONS:
        for statement in statements:
            model.execute_sql(statement)
    expected = {(str(kind), str(name)): sql for kind, name, sql in model.execute_sql(wanted)}
    model.close()
    found = {(str(kind), str(name)): sql for kind, name, sql in db.each(wanted)}
    for (kind, name), sql in expected.items():
        if (kind, name) not in found:
            yield "schema", f"{kind} {name}", _TABLE_GONE if kind == "table" else "it is not there"
        elif found[kind, name] != sql:
            yield "schema", f"{kind} {name}", "it is not as this version of Push made it"
    for kind, name in found.keys() - expected.keys():
        if kind == "trigger":
            yield "schema", f"{kind} {name}", "a trigger that Push did not make changes what is written"


def _file_faults(db: Database) -> Iterator[Fault]:
    for (text,) in db.each(f"PRAGMA integrity_check({MOST})"):
        if text != "ok":
            yield "file_integrity", "push.db", f"SQLite says: {text}"
    for table, number, parent, _ in db.each("PRAGMA foreign_key_check"):
        yield "reference", f"{table} {number}", f"its {parent} is not there"


def _session_faults(db: Database, sessions: Mapping[str, Session]) -> Iterator[Fault]:
    for key, session in sessions.items():
        inherited = not session.work_dir and not key.startswith(f"{_TERMINAL}:")
        if inherited:
            continue  # of an earlier implementation, whose turns are not in this ledger
        row = db.one("SELECT id FROM conversation WHERE key = ?", (key,))
        who = f"state.json, session of {key}"
        if row is None:
            yield "session_stranger", who, "the ledger knows no such conversation"
        elif db.one(_SESSION_KNOWN, (row[0], session.uuid)) is None:
            yield "session_unknown", who, "no turn of this conversation had this session"


#: A turn that runs may have saved a session that it has not committed yet, and one that was interrupted may have
#: saved one that its next run did not take up.
_SESSION_KNOWN = (
    "SELECT 1 FROM turn WHERE conversation_id = ? "
    "AND (session_id = ? OR state = 'running' OR interruptions > 0) LIMIT 1"
)


def _cursor_faults(db: Database, cursors: Sequence[Reading]) -> Iterator[Fault]:
    """What was read is committed before state.json is told, with the owner; an earlier implementation told none."""
    for cursor in cursors:
        who = f"state.json, cursor of {cursor.channel}"
        if cursor.channel == _TERMINAL:
            yield "cursor_ahead", who, "nothing reads ahead there: the terminal commits what is typed by itself"
        elif cursor.owner:
            stored = arrivals.position(db, cursor.channel, cursor.owner)
            if stored is None or stored < cursor.position:
                until = "nothing" if stored is None else f"what came up to {stored}"
                yield "cursor_ahead", who, f"it was read up to {cursor.position}, but the ledger holds {until}"
