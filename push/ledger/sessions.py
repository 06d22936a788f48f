"""What the ledger knows of backend sessions: enough to write state.json anew.

Does not own state.json (`push.state`), nor which commands end a session (`push.gateway.commands`).
"""

from __future__ import annotations

from collections.abc import Callable

from push import clock
from push.ledger.database import Database
from push.model.values import Session

_NEWEST_RUNS = (
    "SELECT c.key, c.id, t.id, t.agent, t.session_id, t.epoch, t.work_dir, t.instructions_sha256, t.started_at "
    "FROM conversation c JOIN turn t ON t.id = (SELECT id FROM turn WHERE conversation_id = c.id "
    "AND epoch IS NOT NULL ORDER BY id DESC LIMIT 1)"
)
_COMMANDS_SINCE = (
    "SELECT text FROM turn WHERE conversation_id = ? AND id > ? AND kind = 'command' AND state = 'answered'"
)


def last_sessions(db: Database, ends_session: Callable[[str], bool]) -> dict[str, Session]:
    """Conversation -> the session of its newest run, with the epoch that it has now.

    Where a command that `ends_session` was answered since, the session has no id, and its epoch is higher by one for
    each: a run from before the command still cannot bring its session back.
    """
    found = {}
    with db.snapshot():
        for key, conversation, turn, agent, session_id, epoch, work_dir, digest, started_at in db.rows(_NEWEST_RUNS):
            ended = sum(ends_session(str(text)) for (text,) in db.rows(_COMMANDS_SINCE, (conversation, turn)))
            found[str(key)] = Session(
                uuid=None if ended else session_id,
                started=bool(session_id) and not ended,
                backend=str(agent),
                epoch=int(epoch) + ended,
                work_dir=str(work_dir or ""),
                instructions_sha256=str(digest or ""),
                used_on=clock.from_ms(int(started_at)).date().isoformat(),
            )
    return found
