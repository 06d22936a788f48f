"""The shapes of what `--json` prints, one for each command, and of its error: JSON Schema, draft 2020-12.

Owns names and types; what they mean stands in `docs/reference/output.md`. `make docs` writes
`docs/reference/schemas/`. A reader must expect further keys, so the files allow them; the tests do not
(`tests/docs/test_json.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from push.model.machines import OUTBOUND, TURN

FOLDER = Path(__file__).parent / "reference" / "schemas"

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "integer", "minimum": 1}
SECONDS: Schema = {"type": "number", "description": "seconds"}
AMOUNT: Schema = {"type": "number", "minimum": 0, "description": "US dollars"}
INSTANT: Schema = {
    "type": "string",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$",
    "description": "ISO 8601, in UTC",
}
ANYTHING: Schema = {}


def one_of(*values: str) -> Schema:
    """One of these words."""
    return {"enum": list(values)}


def maybe(schema: Schema) -> Schema:
    """Or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def many(schema: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": schema}


def named(schema: Schema) -> Schema:
    """An object whose keys are names that nobody can foresee."""
    return {"type": "object", "additionalProperties": schema}


def record(may_lack: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """An object with these keys; all are there but those that it may lack."""
    return {"type": "object", "required": [name for name in fields if name not in may_lack], "properties": fields}


TURN_STATE = one_of(*TURN.states)
DELIVERY_STATE = one_of(*OUTBOUND.states)
LOOKS = {"message": TEXT, "hint": TEXT}

CHANGE = record(at=INSTANT, source=maybe(TEXT), target=TEXT, actor=TEXT, reason=maybe(TEXT))
PART = record(seq=COUNT, receipt=maybe(TEXT), delivered_at=maybe(INSTANT), repeats=COUNT, text=maybe(TEXT))
DELIVERY = record(
    id=NUMBER,
    turn=maybe(NUMBER),
    conversation=TEXT,
    channel=TEXT,
    target=TEXT,
    state=DELIVERY_STATE,
    attempt=COUNT,
    delays=COUNT,
    repeat=FLAG,
    urgent=FLAG,
    notice=maybe(TEXT),
    next_attempt_at=maybe(INSTANT),
    reason=maybe(TEXT),
    created_at=INSTANT,
    finished_at=maybe(INSTANT),
    dismissed_at=maybe(INSTANT),
    erased_at=maybe(INSTANT),
    parts=many(PART),
    history=many(CHANGE),
)
_LINE = {
    "id": NUMBER,
    "conversation": TEXT,
    "state": TURN_STATE,
    "queued_at": INSTANT,
    "started_at": maybe(INSTANT),
    "finished_at": maybe(INSTANT),
    "agent": maybe(TEXT),
    "session_id": maybe(TEXT),
}
WHOLE_TURN = record(
    **_LINE,
    channel=TEXT,
    sender=TEXT,
    kind=TEXT,
    received_at=INSTANT,
    attempt=COUNT,
    interruptions=COUNT,
    delays=COUNT,
    next_attempt_at=maybe(INSTANT),
    reason=maybe(TEXT),
    detail=maybe(TEXT),
    work_dir=maybe(TEXT),
    rehydrated=maybe(COUNT),
    input_tokens=maybe(COUNT),
    output_tokens=maybe(COUNT),
    cost_usd=maybe(AMOUNT),
    lane=TEXT,
    ahead=FLAG,
    merged_into=maybe(NUMBER),
    erased_at=maybe(INSTANT),
    context=maybe(TEXT),
    text=maybe(TEXT),
    pieces=many(record(turn=NUMBER, text=maybe(TEXT))),
    earlier=many(record(replaced_at=INSTANT, text=maybe(TEXT))),
    history=many(CHANGE),
    reply=maybe(DELIVERY),
)
REJECTED = record(
    id=NUMBER,
    channel=TEXT,
    position=COUNT,
    reason=TEXT,
    rejected_at=INSTANT,
    dismissed_at=maybe(INSTANT),
    raw=maybe(TEXT),
)
PAUSE = record(channel=TEXT, chat=maybe(TEXT), until=INSTANT, reason=TEXT)
KIND = one_of("turn", "delivery", "rejected")
RETRY = record(
    kind=KIND,
    id={"type": "string", "pattern": r"^[tdx]\d+$"},
    state=TEXT,
    attempt=COUNT,
    max_attempts=maybe(NUMBER),
    next_attempt_at=maybe(INSTANT),
    reason=maybe(TEXT),
    hint=TEXT,
    conversation=maybe(TEXT),
    channel=TEXT,
)
_DONE = {"kind": KIND, "id": TEXT}
_NOW = record(**_DONE, heard=FLAG, paused_until=maybe(INSTANT))
HELD = record(turns=COUNT, deliveries=COUNT)
_CONVERSATION = {
    "conversation": TEXT,
    "channel": TEXT,
    "created_at": INSTANT,
    "last_at": maybe(INSTANT),
    "last_turn": maybe(NUMBER),
    "open": COUNT,
    "agent": maybe(TEXT),
    "model": maybe(TEXT),
    "paused_at": maybe(INSTANT),
}
SESSION = record(id=maybe(TEXT), agent=maybe(TEXT), epoch=COUNT, work_dir=maybe(TEXT), used_on=maybe(TEXT))
_PERSON = {"channel": TEXT, "kind": one_of("user", "chat"), "id": {"type": "string", "pattern": r"^-?\d+$"}}
REFUSAL = record(
    channel=TEXT, sender=TEXT, chat=maybe(TEXT), count=NUMBER, first_at=INSTANT, last_at=INSTANT, hint=TEXT
)
ALLOWED = record(
    items=many(record(**_PERSON, stands_in=one_of("config", "command"), note=maybe(TEXT), added_at=maybe(INSTANT))),
    refusals=many(REFUSAL),
)
DAMAGES = {"items": many(record(code=TEXT, row=TEXT, message=TEXT)), "omitted": named(NUMBER)}
_BACKUP = {
    "created_at": INSTANT,
    "push": TEXT,
    "schema": NUMBER,
    "turns": COUNT,
    "deliveries": COUNT,
    "original_home": TEXT,
    "assistant_root": TEXT,
    "with_secrets": FLAG,
    "secrets": many(TEXT),
    "files": named(COUNT),
}
HEALTH: Schema = {
    "anyOf": [record(ok={"const": True}, present=FLAG), record(ok={"const": False}, code=TEXT, why=TEXT, hint=TEXT)]
}
_USED = {
    "turns": COUNT,
    "input_tokens": maybe(COUNT),
    "output_tokens": maybe(COUNT),
    "cost_usd": maybe(AMOUNT),
    "priced_turns": COUNT,
}
KEPT = record(
    history=record(
        limit=maybe(SECONDS),
        messages=maybe(COUNT),
        since=maybe(INSTANT),
        erased=maybe(COUNT),
        erased_at=maybe(INSTANT),
    ),
    audit=record(limit=maybe(SECONDS), since=maybe(INSTANT)),
    logs=record(limit=maybe(SECONDS), since=maybe(INSTANT)),
    spool=record(limit=maybe(SECONDS)),
)
STATUS = record(
    home=TEXT,
    at=INSTANT,
    processes=many(
        record(
            role=TEXT,
            pid=NUMBER,
            command=TEXT,
            started_at=INSTANT,
            loops=many(record(name=TEXT, beat_at=INSTANT, note=TEXT)),
        )
    ),
    channels=many(
        record(name=TEXT, note=TEXT, note_at=maybe(INSTANT), good_at=maybe(INSTANT), deaf_since=maybe(INSTANT))
    ),
    turns=maybe(
        record(
            **dict.fromkeys(("queued", "running", "waiting", "interrupted", "held", "postponed", "failed"), COUNT),
            oldest_open_at=maybe(INSTANT),
        )
    ),
    running=many(
        record(
            id=NUMBER,
            conversation=TEXT,
            agent=TEXT,
            attempt=NUMBER,
            started_at=INSTANT,
            elapsed=SECONDS,
            pid=maybe(NUMBER),
        )
    ),
    postponed=many(record(id=NUMBER, conversation=TEXT, state=TEXT, reason=TEXT, next_attempt_at=INSTANT)),
    deliveries=maybe(
        record(
            **dict.fromkeys(("pending", "sending", "waiting", "failed", "unknown", "held", "possibly_twice"), COUNT),
            oldest_open_at=maybe(INSTANT),
            targets=many(record(channel=TEXT, target=TEXT, open=NUMBER)),
        )
    ),
    pauses=many(PAUSE),
    paused=many(record(conversation=TEXT, paused_at=INSTANT, waiting=COUNT)),
    rejected=maybe(COUNT),
    files=record(bytes=named(COUNT), free_bytes=maybe(COUNT), spool_leftover=COUNT),
    kept=maybe(KEPT),
    ledger=HEALTH,
    state=HEALTH,
    attention=many(record(**LOOKS)),
)
FINDING = record(check=TEXT, status=one_of("ok", "fixed", "warning", "failed"), code=TEXT, **LOOKS)

#: Command -> the object that it prints, without `version`.
COMMANDS: dict[str, Schema] = {
    "status": STATUS,
    "turns list": record(items=many(record(**_LINE))),
    "turns show": record(turn=WHOLE_TURN),
    "turns cancel": record(turn=NUMBER, state=TURN_STATE),
    "conversations list": record(items=many(record(**_CONVERSATION))),
    "conversations show": record(
        conversation=record(**_CONVERSATION, session=maybe(SESSION)),
        items=many(
            record(turn=maybe(NUMBER), role=one_of("user", "assistant"), state=TEXT, at=INSTANT, text=maybe(TEXT))
        ),
    ),
    "conversations pause": record(conversation=TEXT, paused={"const": True}, changed=FLAG),
    "conversations resume": record(conversation=TEXT, paused={"const": False}, changed=FLAG, heard=FLAG),
    "allow": ALLOWED,
    "allow list": ALLOWED,
    "allow add": record(**_PERSON, added=FLAG),
    "allow remove": record(**_PERSON),
    "retries list": record(items=many(RETRY), pauses=many(PAUSE)),
    "retries show": {"anyOf": [record(turn=WHOLE_TURN), record(delivery=DELIVERY), record(rejected=REJECTED)]},
    "retries now": {"anyOf": [_NOW, record(items=many(_NOW)), record(released=HELD, heard=FLAG)]},
    "retries drop": record(**_DONE),
    "usage": record(
        zone=maybe(TEXT),
        since=INSTANT,
        days=NUMBER,
        total=record(**_USED),
        left_off=COUNT,
        items=many(record(by=one_of("day", "agent", "conversation"), name=TEXT, **_USED)),
    ),
    "audit tail": record(items=many(record(at=INSTANT, event=TEXT, fields=named(ANYTHING))), damaged=COUNT),
    "verify": record(ok=FLAG, checked=record(turns=COUNT, deliveries=COUNT), **DAMAGES),
    "doctor": record(items=many(FINDING), failed=COUNT),
    "reload": record(
        items=many(
            record(
                pid=NUMBER,
                command=TEXT,
                roles=many(TEXT),
                outcome=one_of("taken", "kept", "unanswered", "ended", "not_asked"),
                read_at=maybe(INSTANT),
                reason=maybe(TEXT),
                why=maybe(TEXT),
                hint=maybe(TEXT),
            )
        )
    ),
    "service install": {
        "anyOf": [
            record(name=TEXT, supervisor=TEXT, home=TEXT, pid=maybe(NUMBER), survives_logout=FLAG, files=many(TEXT)),
            record(items=many(record(path=TEXT, text=TEXT))),
        ]
    },
    "service uninstall": record(name=TEXT, removed=FLAG),
    "service status": record(
        name=TEXT,
        supervisor=TEXT,
        installed=FLAG,
        enabled=FLAG,
        active=FLAG,
        pid=maybe(NUMBER),
        since=maybe(INSTANT),
        current=maybe(FLAG),
        survives_logout=FLAG,
        home=maybe(TEXT),
        why=maybe(TEXT),
    ),
    "backup create": record(file=TEXT, size=NUMBER, **_BACKUP),
    "backup verify": record(ok=FLAG, backup=maybe(record(**_BACKUP)), **DAMAGES),
    "backup restore": record(home=TEXT, held=HELD, notes=many(TEXT), missing=many(record(**LOOKS)), **_BACKUP),
    "config path": record(path=TEXT, exists=FLAG, home=TEXT),
    "config show": record(
        path=maybe(TEXT),
        items=many(
            record(
                key=TEXT, value=ANYTHING, source=one_of("file", "descriptor", "credential", "environment", "default")
            )
        ),
    ),
    "config validate": record(path=TEXT, valid={"const": True}),
    "config schema": record(schema={"type": "object"}),
}
ERROR = record(error=record(("details",), code=TEXT, message=TEXT, why=TEXT, hint=TEXT, docs=TEXT, details=many(TEXT)))


def complete(title: str, schema: Schema) -> Schema:
    """The schema of a whole object, with its version and its name."""
    variants = [_with_version(variant) for variant in schema.get("anyOf", [schema])]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return head | (variants[0] if len(variants) == 1 else {"anyOf": variants})


def _with_version(schema: Schema) -> Schema:
    return schema | {
        "required": ["version", *schema["required"]],
        "properties": {"version": {"const": 1}, **schema["properties"]},
    }


def files() -> dict[Path, str]:
    """The files of `docs/reference/schemas/` and what is to stand in them."""
    schemas = {f"push {command} --json": schema for command, schema in COMMANDS.items()}
    found = {}
    for title, schema in (*schemas.items(), ("error", ERROR)):
        name = title.removeprefix("push ").removesuffix(" --json").replace(" ", "-")
        found[FOLDER / f"{name}.json"] = json.dumps(complete(title, schema), indent=1) + "\n"
    return found
