"""The values that features hand to each other. Frozen; no rows, no behaviour beyond what they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message that a channel read and the allowlist let through, before it is committed.

    `conversation` is channel-qualified (`local:ann`); `event_id` is unique within the channel; `target` is where the
    answer goes, opaque to all but the provider; `received_ms` is when the channel saw it.
    `message_ref` is the channel's name of the message, by which an edit finds it. `context` is what was replied to,
    quoted or forwarded: the agent reads it before the text. `hold_ms` > 0 postpones the turn, for what may follow to
    join it; `joins` says that this text may be the rest of one that is held. What is not in the sender's `own_words`
    (forwarded) is never a command.
    """

    channel: str
    conversation: str
    target: str
    event_id: str
    sender: str
    text: str
    received_ms: int
    kind: str = "message"
    lane: str = "turns"  # "control": handled at once, beside what waits
    ahead: bool = False  # handled before what waits (`/now`)
    message_ref: str | None = None
    context: str | None = None
    hold_ms: int = 0
    joins: bool = False
    own_words: bool = True


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message is committed as turn `turn_id` of `lane`; `ahead` of what waits, or not.

    One that is `held` waits for a person: it is of before this copy of a home was restored.
    """

    turn_id: int
    conversation_id: int
    lane: str = "turns"
    ahead: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The channel's event was committed before, as turn `turn_id`."""

    turn_id: int
    conversation_id: int


@dataclass(frozen=True, slots=True)
class Merged:
    """The message is committed, and belongs to turn `turn_id`: the rest of a pasted text that the channel had split."""

    turn_id: int
    conversation_id: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How a turn is run: decided before the run starts and stored with it, so that any process can harvest it.

    `epoch` is the conversation's epoch in state.json at that time; `rehydrated` counts the earlier messages given.
    """

    agent: str
    session_id: str | None
    is_new: bool
    epoch: int
    work_dir: str
    instructions_sha256: str
    rehydrated: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One row of work: a message, and how far it got. Instants are milliseconds since 1970.

    `attempt` counts started runs; `interruptions` counts those that a crash ended; `not_before` postpones.
    """

    id: int
    conversation_id: int
    conversation: str
    channel: str
    target: str
    sender: str
    kind: str
    text: str
    state: str
    attempt: int
    interruptions: int
    delays: int
    not_before: int | None
    received_at: int
    lane: str
    ahead: bool
    context: str | None
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class Usage:
    """What one run cost. Tokens are counts; `cost_usd` is None where the CLI does not say.

    With `cumulative`, the numbers are totals of the session so far, as claude (cost) and codex (tokens) report them.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cumulative: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """One run of an agent CLI.

    `session_id` is the session to resume, or, when `is_new`, the id that the adapter chose for it (None where the CLI
    chooses). `prompt` is exactly what the person said (with a note or history before it where the gateway adds one);
    the adapter makes it inert. `instructions_file` holds `instructions`. `interrupted` says that an earlier run of
    this very message was killed.
    """

    session_id: str | None
    is_new: bool
    work_dir: Path
    instructions: str
    instructions_file: Path
    prompt: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class RunOutput:
    """What a run produced: a non-empty reply, and the session that it belongs to (None: the agent has none)."""

    reply: str
    session_id: str | None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Exited:
    """How a run ended, as the runner wrote it (`result.json`), with the files that hold what it printed.

    `ending` is one of: exited, timed_out, cancelled, terminated, output_limit, not_started. `code` is the exit code
    (negative: the signal). `errno` says why it could not be started. `left` counts processes left behind.
    """

    ending: str
    code: int | None
    errno: int | None
    stdout: Path
    stderr: Path
    truncated: bool = False
    left: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """The agent answered."""

    output: RunOutput


@dataclass(frozen=True, slots=True)
class SessionMissing:
    """The CLI does not know the session any more, and ran nothing: retry once with a fresh one."""

    reason: str  # "missing", "context_full", "in_use"


@dataclass(frozen=True, slots=True)
class ComeBackLater:
    """The CLI ran nothing and asks to be tried again."""

    reason: str
    after_seconds: float


@dataclass(frozen=True, slots=True)
class AgentFailed:
    """The run failed. `code` chooses the fixed sentence for the person; `detail` is for the ledger's eyes only.

    Codes: timed_out, cancelled, terminated, output_limit, not_found, not_executable, not_started, not_logged_in,
    rate_limited, unavailable, refused, empty_reply, bad_output, prompt_too_long, agent_error.
    `session_id` is the session in which it happened, where it can be resumed.
    """

    code: str
    detail: str
    session_id: str | None = None
    usage: Usage | None = None


AgentOutcome = Answered | SessionMissing | ComeBackLater | AgentFailed


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation's backend session as state.json holds it."""

    uuid: str | None
    started: bool
    backend: str
    epoch: int
    work_dir: str
    instructions_sha256: str
    used_on: str  # date, UTC


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a reply as the channel will show it.

    `entities` is its formatting in the channel's own form (Telegram: a JSON list), opaque to all but the provider.
    `is_piece` says that the reply has further parts, once they are read back from the ledger.
    """

    text: str
    entities: str | None = None
    is_piece: bool = False


@dataclass(frozen=True, slots=True)
class Rendered:
    """A reply ready to be committed: its parts in order, and the Markdown they were made from (None: plain text)."""

    parts: tuple[Part, ...]
    source: str | None = None


@dataclass(frozen=True, slots=True)
class OutboundPart:
    """A part and how far it got. `repeats` counts the sends whose outcome was never known."""

    seq: int
    part: Part
    delivered: bool
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Outbound:
    """A reply on its way out. Instants are milliseconds since 1970.

    `attempt` counts sends that may have been executed or were refused; `delays` those that proved not executed.
    `urgent` overtakes the others of its target. `late` says that a person sent it again after it had been given up,
    and `since` is when, else when it was committed. `not_before` postpones it.
    """

    id: int
    conversation_id: int
    turn_id: int | None
    channel: str
    target: str
    state: str
    attempt: int
    delays: int
    repeat: bool
    urgent: bool
    late: bool
    reason: str | None
    not_before: int | None
    created_at: int
    since: int
    parts: tuple[OutboundPart, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Pace:
    """A budget that sends draw from: at most `count` within `seconds`, for each of `limits`.

    `key` names whose budget it is within the channel ("" for the whole channel).
    """

    key: str
    limits: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Delivered:
    """The service took the part; `receipt` is its name for it."""

    receipt: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """Proven not executed; try again, at the earliest after `retry_after` seconds."""

    reason: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The service said no. With `final`, trying again changes nothing; else it is tried three times in all."""

    reason: str
    final: bool = True


@dataclass(frozen=True, slots=True)
class Unknown:
    """May have been executed, or not."""

    reason: str


SendOutcome = Delivered | NotSent | Refused | Unknown
