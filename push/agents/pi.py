"""Pi: `pi --print --mode json`, one event a line.

Owns its command line, its session ids (it chooses them) and how it says what happened; knows no other CLI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

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
    recent,
    tail,
    using,
    words,
)
from push.model.values import AgentFailed, AgentOutcome, Answered, Exited, Request, RunOutput, SessionMissing, Usage

#: It trims what it reads, then takes a leading `/` for a skill, a template or an extension's command.
_COMMAND: Final = re.compile(r"[\s\ufeff]*/")

#: Each delta repeats the whole message twice; the end of the message holds all of it.
_DELTA: Final = b'{"type":"message_update"'
_UNUSED: Final = (
    _DELTA,
    *(b'{"type":"%b"' % kind for kind in (b"message_start", b"turn_end", b"agent_end", b"tool_execution_")),
)

#: Events after which it does something else than before.
_ACTIVITIES: Final = {
    **dict.fromkeys(("agent_start", "turn_start", "message_start", "tool_execution_end", "message_end"), "thinking"),
    "auto_retry_start": "waiting for its service",
    "compaction_start": "summing up the conversation",
}


@dataclass(frozen=True, slots=True)
class Pi:
    """Pi under the name, or at the path, that `program` begins with; `model` overrides its own choice."""

    program: tuple[str, ...]
    model: str | None = None

    name: ClassVar[str] = "pi"
    resumes: ClassVar[bool] = True
    reads_instructions_once: ClassVar[bool] = False
    takes_model: ClassVar[bool] = True
    output_cap: ClassVar[int] = 512 * 1024 * 1024
    drop_prefix: ClassVar[bytes | None] = _DELTA
    max_prompt: ClassVar[int | None] = None

    def new_session_id(self) -> str | None:
        """None: pi names its sessions."""
        return None

    def accepts(self, session_id: str, /) -> bool:
        """Whether it is a whole UUID; pi would take a path, or the beginning of an id."""
        return is_uuid(session_id)

    def prompt_bytes(self, request: Request, /) -> bytes:
        """The prompt, with a zero-width space (which pi does not trim) before a leading `/`."""
        text = request.prompt.replace("\0", "")
        return encode(ZERO_WIDTH + text if _COMMAND.match(text) else text)

    def argv(self, request: Request, /) -> tuple[str, ...]:
        """`pi --print` with the session and the file of instructions. Raises ValueError for an id of another shape."""
        if request.is_new != (request.session_id is None):
            raise ValueError("pi names new sessions itself")
        if request.session_id is not None and not self.accepts(request.session_id):
            raise ValueError("a session id of pi is a UUID")
        return (
            *self.program,
            "--print",
            *("--mode", "json"),
            *(("--session", request.session_id) if request.session_id else ()),
            *(("--model", self.model) if self.model else ()),
            *("--append-system-prompt", str(request.instructions_file)),  # a path of a file stands for its content
        )

    def environment(self, _request: Request, /) -> dict[str, str]:
        """Nothing."""
        return {}

    def read(self, request: Request, exited: Exited, /) -> AgentOutcome:
        """Success: exit code 0, and the last message of the assistant stopped by itself, in the session asked for."""
        if exited.ending == "not_started":
            return not_started(exited, request)
        seen = _Seen.in_file(exited.stdout)
        stderr = tail(exited.stderr)
        if not request.is_new and seen.session_id is None and _says_missing(request.session_id, exited, stderr):
            return SessionMissing("missing")
        kept = seen.kept(request)
        failure = cut_short(exited, kept)
        if failure and (not seen.answered or exited.ending == "cancelled"):
            return failure
        if seen.session_id not in (None, request.session_id) and not request.is_new:
            return AgentFailed("bad_output", "another session answered than was asked for", None, seen.usage())
        if seen.answered and (exited.code == 0 or failure):
            return seen.answer()
        return seen.failure(request, exited, stderr, kept)

    def resumable(self, request: Request, stdout: Path, /) -> str | None:
        """The session, once a message of the assistant is complete: pi writes no file before."""
        return _Seen.in_file(stdout).kept(request)

    def activity(self, stdout: Path, /) -> str | None:
        """What the newest of its events tells."""
        for event in recent(stdout):
            kind = words(event.get("type"))
            if kind == "tool_execution_start":
                return using(words(event.get("toolName")))
            if kind in _ACTIVITIES:
                return _ACTIVITIES[kind]
        return None


class _Seen:
    """What the events of one run came to. `last` is the last message that the assistant ended."""

    __slots__ = ("cost", "last", "overflow", "read", "session_id", "worked", "written")

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.last: dict[str, Any] = {}
        self.overflow = False
        self.worked = False
        self.read = self.written = 0
        self.cost = 0.0

    @classmethod
    def in_file(cls, stdout: Path) -> _Seen:
        seen = cls()
        for event in events(stdout, skip=_UNUSED):
            seen.add(event)
        return seen

    def add(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "session":
            name = words(event.get("id"))
            self.session_id = name if is_uuid(name) else None
        elif kind == "compaction_start":
            self.overflow = event.get("reason") == "overflow"
        elif kind == "message_end" and dig(event, "message", "role") == "assistant":
            self.last = event["message"]
            self.worked = self.worked or self.last.get("stopReason") not in ("error", "aborted")
            self._add_usage()

    def _add_usage(self) -> None:
        self.read += sum(number(dig(self.last, "usage", kind)) or 0 for kind in ("input", "cacheRead", "cacheWrite"))
        self.written += number(dig(self.last, "usage", "output")) or 0
        cost = dig(self.last, "usage", "cost", "total")
        self.cost += cost if isinstance(cost, int | float) else 0.0

    @property
    def answered(self) -> bool:
        """Whether the last message is a final one: it stopped by itself, or at the model's own limit of length."""
        return self.last.get("stopReason") in ("stop", "length")

    def usage(self) -> Usage | None:
        """What this run used; None where no message ended."""
        return Usage(self.read, self.written, self.cost) if self.last else None

    def kept(self, request: Request) -> str | None:
        """The session that can be resumed."""
        return request.session_id or (self.session_id if self.last else None)

    def answer(self) -> AgentOutcome:
        """The reply of a final message: its parts of text, a line each as pi itself prints them."""
        if self.session_id is None:
            return AgentFailed("bad_output", "it did not name its session", None, self.usage())
        content = self.last.get("content")
        parts = [dict(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        reply = readable("\n".join(words(part.get("text")) for part in parts if part.get("type") == "text"))
        if is_blank(reply):
            return AgentFailed("empty_reply", "the message held no text", self.session_id, self.usage())
        return Answered(RunOutput(reply, self.session_id, self.usage()))

    def failure(self, request: Request, exited: Exited, stderr: str, kept: str | None) -> AgentOutcome:
        """What a run without a final message came to."""
        error = words(self.last.get("errorMessage"))
        if not error:
            said = detail(stderr)
            code = cause(said) if said and exited.code != 0 else "agent_error" if exited.code != 0 else "bad_output"
            return AgentFailed(code, said or exit_words(exited), kept, self.usage())
        code = "prompt_too_long" if self.overflow else cause(error)
        if code == "prompt_too_long" and not self.worked and not request.is_new:
            return SessionMissing("context_full")
        return AgentFailed(code, detail(error), None if code == "prompt_too_long" else kept, self.usage())


def _says_missing(session_id: str | None, exited: Exited, stderr: str) -> bool:
    """Whether it says that there is no such session, or one of another folder only (and has read nothing more)."""
    if exited.code != 0:
        return f"No session found matching '{session_id}'" in stderr
    return stderr.startswith("Session found in different project: ")
