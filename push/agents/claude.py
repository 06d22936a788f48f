"""Claude Code: `claude -p`, one JSON object on standard output.

Owns its command line, its session ids (we choose them) and how it says what happened; knows no other CLI.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from push.agents.base import OUTPUT_CAP
from push.agents.causes import cause
from push.agents.reading import (
    ZERO_WIDTH,
    cut_short,
    detail,
    dig,
    encode,
    events,
    exit_words,
    is_blank,
    is_uuid,
    not_started,
    number,
    readable,
    tail,
    words,
)
from push.model.values import AgentFailed, AgentOutcome, Answered, Exited, Request, RunOutput, SessionMissing, Usage

#: It attaches the file that `@path` names, when the `@` is the first character or follows a blank (in JavaScript's
#: sense) or one of 。、？！. A zero-width space before the `@` ends that and leaves the path whole. Wider than what it
#: does today: after anything but a letter, a digit, or a character that is known to end it.
_MENTION: Final = re.compile(r'(?<![\w"`\\/@])@(?=\S)')


@dataclass(frozen=True, slots=True)
class Claude:
    """Claude Code under the name, or at the path, that `program` begins with; `model` overrides its own choice."""

    program: tuple[str, ...]
    model: str | None = None

    name: ClassVar[str] = "claude"
    resumes: ClassVar[bool] = True
    reads_instructions_once: ClassVar[bool] = True
    takes_model: ClassVar[bool] = True
    output_cap: ClassVar[int] = OUTPUT_CAP
    drop_prefix: ClassVar[bytes | None] = None
    max_prompt: ClassVar[int | None] = 10 * 1024 * 1024 // 4  # it takes 10 MiB; a character has up to 4 bytes

    def new_session_id(self) -> str | None:
        """A random UUID: Claude Code takes the id of a new session from us."""
        return str(uuid.uuid4())

    def accepts(self, session_id: str, /) -> bool:
        """Whether it is a UUID; anything else would be looked up as a session's title."""
        return is_uuid(session_id)

    def prompt_bytes(self, request: Request, /) -> bytes:
        """The prompt with `@path` broken, and a newline (which it trims) before a `/`, which would be a command."""
        text = _MENTION.sub(f"{ZERO_WIDTH}@", request.prompt.replace("\0", ""))
        return encode("\n" + text if text.lstrip("\ufeff").startswith("/") else text)

    def argv(self, request: Request, /) -> tuple[str, ...]:
        """`claude -p` with the session and the file of instructions. Raises ValueError for an id of another shape."""
        if request.session_id is None or not self.accepts(request.session_id):
            raise ValueError("a run of claude needs a session id that is a UUID")
        return (
            *self.program,
            "-p",
            *("--output-format", "json"),
            *("--session-id" if request.is_new else "--resume", request.session_id),
            *("--append-system-prompt-file", str(request.instructions_file)),
            *(("--model", self.model) if self.model else ()),
        )

    def environment(self, _request: Request, /) -> dict[str, str]:
        """Nothing."""
        return {}

    def read(self, request: Request, exited: Exited, /) -> AgentOutcome:
        """Success: exit code 0 and a `result` event without an error, of the session asked for, with a reply."""
        if exited.ending == "not_started":
            return not_started(exited, request)
        result: dict[str, Any] = {}
        for event in events(exited.stdout):
            if event.get("type") == "result" and isinstance(event.get("is_error"), bool):
                result = event
        stderr = tail(exited.stderr)
        if reason := _no_session(request, exited, stderr, result):
            return SessionMissing(reason)
        failure = cut_short(exited, request.session_id)
        if failure and (not result or exited.ending == "cancelled"):
            return failure
        if not result:
            said = detail(stderr)
            # What refuses to start says why, and has made no session.
            kept = request.session_id if not said or not request.is_new else None
            return AgentFailed(cause(said) if exited.code else "bad_output", said or exit_words(exited), kept)
        return _judge(request, result, clean=exited.code == 0 or failure is not None)

    def resumable(self, request: Request, _stdout: Path, /) -> str | None:
        """The session's id: it was known before the run, and one that does not exist is recognised as missing."""
        return request.session_id

    def activity(self, _stdout: Path, /) -> str | None:
        """None: it prints one object, at its end."""
        return None


def _judge(request: Request, result: dict[str, Any], *, clean: bool) -> AgentOutcome:
    """The outcome that the `result` event tells. `clean`: nothing about the process's end speaks against it."""
    usage = _usage(result)
    session_id = request.session_id
    if result["is_error"] or not clean:
        text = words(result.get("result")) or words(dig(result, "errors", -1)) or words(result.get("subtype"))
        code = _cause(result, text)
        if code == "prompt_too_long":
            ran_nothing = not dig(result, "usage", "output_tokens")
            if ran_nothing and not request.is_new:
                return SessionMissing("context_full")
            session_id = None  # it stays too long
        return AgentFailed(code, detail(text), session_id, usage)
    if result.get("session_id") != session_id:
        return AgentFailed("bad_output", "another session answered than was asked for", session_id, usage)
    reply = readable(words(result.get("result")))
    if is_blank(reply):
        return AgentFailed("empty_reply", "the result held no text", session_id, usage)
    return Answered(RunOutput(reply, session_id, usage))


def _cause(result: dict[str, Any], text: str) -> str:
    """The code of `AgentFailed` for a `result` event that tells of an error in the words `text`."""
    if result.get("stop_reason") == "refusal":
        return "refused"
    if result.get("terminal_reason") == "prompt_too_long":
        return "prompt_too_long"
    return cause(text, number(result.get("api_error_status")))


def _no_session(request: Request, exited: Exited, stderr: str, result: dict[str, Any]) -> str | None:
    """Why it did not begin, where it says so in its own words and of this very session.

    Not looked for in the text of the `result` event, which a model wrote; its `errors` are the CLI's.
    """
    if exited.code == 0:
        return None
    if request.is_new:
        return "in_use" if f"Session ID {request.session_id} is already in use" in stderr else None
    errors = result.get("errors")
    said = [stderr, *(map(words, errors) if isinstance(errors, list) else ())]
    wanted = f"No conversation found with session ID: {request.session_id}"
    return "missing" if any(wanted in text for text in said) else None


def _usage(result: dict[str, Any]) -> Usage | None:
    """Tokens of this run (those read from a cache count as read); the cost is that of the session so far."""
    used = result.get("usage")
    if not isinstance(used, dict):
        return None
    read = [number(used.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    cost = result.get("total_cost_usd")
    return Usage(
        input_tokens=sum(count or 0 for count in read),
        output_tokens=number(used.get("output_tokens")),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        cumulative=frozenset({"cost_usd"}),
    )
