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
    (
        "ALTER TABLE conversation ADD COLUMN agent TEXT",
        "ALTER TABLE conversation ADD COLUMN model TEXT",
        "ALTER TABLE turn ADD COLUMN lane TEXT NOT NULL DEFAULT 'turns' CHECK (lane IN ('turns', 'control'))",
        "ALTER TABLE turn ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0 CHECK (ahead IN (0, 1))",
        "ALTER TABLE turn ADD COLUMN message_ref TEXT",
        "ALTER TABLE turn ADD COLUMN context TEXT",
        "ALTER TABLE turn ADD COLUMN merged_into INTEGER REFERENCES turn(id)",
        "ALTER TABLE turn ADD COLUMN acknowledged_at INTEGER",
        "CREATE INDEX turn_message ON turn (channel, message_ref) WHERE message_ref IS NOT NULL",
        "CREATE INDEX turn_merged ON turn (merged_into) WHERE merged_into IS NOT NULL",
        f"CREATE INDEX turn_control ON turn (conversation_id, id) WHERE lane = 'control' AND state IN {TURN_OPEN}",
        """CREATE TABLE revision (
            turn_id INTEGER NOT NULL REFERENCES turn(id),
            replaced_at INTEGER NOT NULL,
            text TEXT
        ) STRICT""",
        "CREATE INDEX revision_turn ON revision (turn_id)",
        "ALTER TABLE outbound ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0 CHECK (urgent IN (0, 1))",
        "ALTER TABLE outbound ADD COLUMN notice TEXT",
        "ALTER TABLE outbound ADD COLUMN source TEXT",
        "ALTER TABLE outbound ADD COLUMN delays INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE outbound ADD COLUMN requeued_at INTEGER",
        "ALTER TABLE outbound ADD COLUMN told_at INTEGER",
        "ALTER TABLE outbound ADD COLUMN dismissed_at INTEGER",
        # An attempt counts when its outcome is known; it used to count when it began.
        "UPDATE outbound SET attempt = attempt - 1 WHERE state = 'sending' AND attempt > 0",
        "ALTER TABLE part ADD COLUMN entities TEXT",
        "ALTER TABLE part ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0",
        # A row of schema 1 knew only that one of its parts, the first that was not delivered, was sent again.
        """UPDATE part SET repeats = 1 WHERE outbound_id IN (SELECT id FROM outbound WHERE repeat = 1) AND seq =
            coalesce((SELECT min(p.seq) FROM part p WHERE p.outbound_id = part.outbound_id
                AND p.delivered_at IS NULL), 0)""",
        """CREATE INDEX outbound_repeated ON outbound (id)
            WHERE state = 'delivered' AND repeat = 1 AND dismissed_at IS NULL""",
        f"""CREATE INDEX outbound_untold ON outbound (conversation_id)
            WHERE state IN {OUTBOUND_STUCK} AND told_at IS NULL""",
        # How far a channel was read, in the commit that stored what was read: state.json's cursor comes after it.
        """CREATE TABLE cursor (
            channel TEXT NOT NULL,
            owner TEXT NOT NULL,
            position INTEGER NOT NULL,
            read_at INTEGER NOT NULL,
            PRIMARY KEY (channel, owner)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE allowed (
            channel TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('user', 'chat')),
            id TEXT NOT NULL,
            note TEXT,
            added_at INTEGER NOT NULL,
            PRIMARY KEY (channel, kind, id)
        ) STRICT, WITHOUT ROWID""",
        # Of an unlisted sender: only that he was there.
        """CREATE TABLE refusal (
            channel TEXT NOT NULL,
            sender TEXT NOT NULL,
            chat TEXT NOT NULL,
            count INTEGER NOT NULL,
            first_at INTEGER NOT NULL,
            last_at INTEGER NOT NULL,
            PRIMARY KEY (channel, sender, chat)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX refusal_last ON refusal (last_at)",
        """CREATE TABLE rejected (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel TEXT NOT NULL,
            position INTEGER NOT NULL,
            raw TEXT NOT NULL,
            reason TEXT NOT NULL,
            rejected_at INTEGER NOT NULL,
            dismissed_at INTEGER
        ) STRICT""",
        "CREATE INDEX rejected_listed ON rejected (id) WHERE dismissed_at IS NULL",
        # What was sent lately from a budget, and until when the service wants silence.
        """CREATE TABLE pace (
            channel TEXT NOT NULL,
            key TEXT NOT NULL,
            sent TEXT NOT NULL DEFAULT '[]',
            paused_until INTEGER,
            pause_reason TEXT,
            PRIMARY KEY (channel, key)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX pace_paused ON pace (channel, key) WHERE paused_until IS NOT NULL",
        # Messages that say what a run is doing, to be removed when it is over.
        """CREATE TABLE progress (
            turn_id INTEGER PRIMARY KEY REFERENCES turn(id),
            channel TEXT NOT NULL,
            target TEXT NOT NULL,
            receipt TEXT NOT NULL,
            posted_at INTEGER NOT NULL,
            edited_at INTEGER NOT NULL
        ) STRICT""",
    ),
    (
        # A restored copy answers nothing by itself: what was open in it, or written before, waits for a person.
        "ALTER TABLE turn ADD COLUMN held_at INTEGER",
        "ALTER TABLE outbound ADD COLUMN held_at INTEGER",
        "CREATE INDEX turn_held ON turn (id) WHERE held_at IS NOT NULL",
        "CREATE INDEX outbound_held ON outbound (id) WHERE held_at IS NOT NULL",
        # A paused conversation takes messages and runs none.
        "ALTER TABLE conversation ADD COLUMN paused_at INTEGER",
        "CREATE INDEX conversation_paused ON conversation (id) WHERE paused_at IS NOT NULL",
        # Texts that were kept as long as the owner wants; the rows, and their event ids, stay.
        "ALTER TABLE turn ADD COLUMN erased_at INTEGER",
        "ALTER TABLE outbound ADD COLUMN erased_at INTEGER",
        "CREATE INDEX turn_kept ON turn (finished_at) WHERE erased_at IS NULL AND finished_at IS NOT NULL",
        "CREATE INDEX outbound_kept ON outbound (finished_at) WHERE erased_at IS NULL AND finished_at IS NOT NULL",
        # Instants of the whole home: `restored`, `erased`, `compacted`.
        "CREATE TABLE milestone (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
        # Of `erased`: how many messages, ever. To count them would take as long as there are many.
        "ALTER TABLE milestone ADD COLUMN count INTEGER NOT NULL DEFAULT 0",
        # What agents were run for, by the time at which it came: sums over the last days look at those days only.
        "CREATE INDEX turn_used ON turn (queued_at) WHERE agent IS NOT NULL",
    ),
)

VERSION: Final = len(MIGRATIONS)
