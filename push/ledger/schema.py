"""The tables of push.db, as migrations: SQL that is never edited once released, only added to.

State names stand in CHECK constraints and in the predicates of partial indexes as literals: a bound parameter
cannot use a partial index. Instants are INTEGER milliseconds since 1970 in UTC.
"""

from __future__ import annotations

from typing import Final

from push.model.machines import OUTBOUND, TURN


def in_list(states: frozenset[str] | tuple[str, ...]) -> str:
    """State names as a literal SQL list, in a fixed order so that it matches the partial indexes."""
    return "(" + ",".join(f"'{state}'" for state in sorted(states)) + ")"


TURN_OPEN: Final = in_list(TURN.open)
OUTBOUND_OPEN: Final = in_list(OUTBOUND.open)
OUTBOUND_STUCK: Final = in_list(("failed", "unknown"))

#: `PRAGMA application_id`: "Push". Another program's database of that name is left alone.
APPLICATION_ID: Final = 0x50757368

#: One tuple of statements per version; `PRAGMA user_version` counts them.
MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        """CREATE TABLE conversation (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            channel TEXT NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT""",
        """CREATE TABLE turn (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation_id INTEGER NOT NULL REFERENCES conversation(id),
            channel TEXT NOT NULL,
            event_id TEXT NOT NULL,
            sender TEXT NOT NULL,
            target TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('message', 'command')),
            text TEXT,
            state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'interrupted',
                'answered', 'failed', 'cancelled', 'merged')),
            attempt INTEGER NOT NULL DEFAULT 0,
            interruptions INTEGER NOT NULL DEFAULT 0,
            delays INTEGER NOT NULL DEFAULT 0,
            not_before INTEGER,
            reason TEXT,
            detail TEXT,
            received_at INTEGER NOT NULL,
            queued_at INTEGER NOT NULL,
            started_at INTEGER,
            finished_at INTEGER,
            dismissed_at INTEGER,
            agent TEXT,
            session_id TEXT,
            is_new INTEGER,
            epoch INTEGER,
            work_dir TEXT,
            instructions_sha256 TEXT,
            rehydrated INTEGER,
            input_tokens INTEGER,
            output_tokens INTEGER,
            cost_usd REAL,
            total_input_tokens INTEGER,
            total_output_tokens INTEGER,
            total_cost_usd REAL,
            UNIQUE (channel, event_id)
        ) STRICT""",
        "CREATE INDEX turn_conversation ON turn (conversation_id, id)",
        """CREATE INDEX turn_open ON turn (conversation_id, id)
            WHERE state IN ('interrupted','queued','running','waiting')""",
        "CREATE INDEX turn_failed ON turn (id) WHERE state = 'failed'",
        """CREATE TABLE outbound (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation_id INTEGER NOT NULL REFERENCES conversation(id),
            turn_id INTEGER UNIQUE REFERENCES turn(id),
            channel TEXT NOT NULL,
            target TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'waiting', 'unknown',
                'delivered', 'failed', 'dropped')),
            attempt INTEGER NOT NULL DEFAULT 0,
            repeat INTEGER NOT NULL DEFAULT 0 CHECK (repeat IN (0, 1)),
            not_before INTEGER,
            reason TEXT,
            goes_after INTEGER,
            created_at INTEGER NOT NULL,
            finished_at INTEGER
        ) STRICT""",
        """CREATE INDEX outbound_open ON outbound (channel, target, id)
            WHERE state IN ('pending','sending','waiting')""",
        "CREATE INDEX outbound_stuck ON outbound (id) WHERE state IN ('failed','unknown')",
        """CREATE TABLE part (
            outbound_id INTEGER NOT NULL REFERENCES outbound(id),
            seq INTEGER NOT NULL,
            text TEXT NOT NULL,
            receipt TEXT,
            delivered_at INTEGER,
            PRIMARY KEY (outbound_id, seq)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE transition (
            id INTEGER PRIMARY KEY,
            machine TEXT NOT NULL CHECK (machine IN ('turn', 'outbound')),
            row_id INTEGER NOT NULL,
            source TEXT,
            target TEXT NOT NULL,
            actor TEXT NOT NULL,
            at INTEGER NOT NULL,
            reason TEXT
        ) STRICT""",
        "CREATE INDEX transition_row ON transition (machine, row_id, id)",
    ),
)

VERSION: Final = len(MIGRATIONS)
