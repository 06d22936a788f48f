"""Codex: `codex exec --json`, one event a line.

Owns its command line, its thread ids (it chooses them) and how it says what happened; knows no other CLI.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from push import environ
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
    recent,
    tail,
    using,
    words,
)
from push.model.values import (
    AgentFailed,
    AgentOutcome,
    Answered,
    ComeBackLater,
    Exited,
    Request,
    RunOutput,
    SessionMissing,
    Usage,
)
from push.paths import open_private

#: It pulls in the file of a skill whose name follows a `$`, anywhere, also inside words, quotes and backquotes. A
#: zero-width space after the `$` ends that. Only names with a small letter in them: prices and `$PATH` stay.
_SKILL: Final = re.compile(r"\$(?=[A-Za-z0-9_:-]*[a-z])")

#: Bytes of one argument that are safe everywhere (Linux takes 131,071); longer instructions go by file.
_ARGUMENT_LIMIT: Final = 120_000

#: The provider no longer takes the reasoning that the thread holds: the thread cannot be continued.
_UNREADABLE: Final = re.compile(r"encrypted[_ ]content", re.IGNORECASE)

#: What it says on standard error whenever it reads standard input.
_READING: Final = re.compile(r"^Reading .{1,40} from stdin\.\.\.\n", re.MULTILINE)

_BUSY_SECONDS: Final = 5.0

#: What it is doing while an item of the type is not complete.
_ITEMS: Final = {
    "command_execution": "running a command",
    "web_search": "searching the web",
    "file_change": "changing files",
    "todo_list": "planning",
    "reasoning": "thinking",
    "agent_message": "writing",
}


@dataclass(frozen=True, slots=True)
class Codex:
    """Codex under the name, or at the path, that `program` begins with; `model` overrides its own configuration."""

    program: tuple[str, ...]
    model: str | None = None

    name: ClassVar[str] = "codex"
    resumes: ClassVar[bool] = True
    reads_instructions_once: ClassVar[bool] = True
    takes_model: ClassVar[bool] = True
    output_cap: ClassVar[int] = OUTPUT_CAP
    drop_prefix: ClassVar[bytes | None] = None
    max_prompt: ClassVar[int | None] = 1_048_576

    def new_session_id(self) -> str | None:
        """None: codex names its threads."""
        return None

    def accepts(self, session_id: str, /) -> bool:
        """Whether it is a UUID; for anything else codex would begin a new thread and say nothing."""
        return is_uuid(session_id)

    def prompt_bytes(self, request: Request, /) -> bytes:
        """The prompt with `$skill` broken."""
        return encode(_SKILL.sub(f"${ZERO_WIDTH}", request.prompt.replace("\0", "")))

    def argv(self, request: Request, /) -> tuple[str, ...]:
        """`codex exec`, or `codex exec … resume`, with the instructions.

        Raises ValueError for an id of another shape, OSError where long instructions cannot be written to a profile.
        """
        if request.is_new != (request.session_id is None):
            raise ValueError("codex names new threads itself")
        if request.session_id is not None and not self.accepts(request.session_id):
            raise ValueError("a thread id of codex is a UUID")
        return (
            *self.program,
            "exec",
            "--json",
            "--skip-git-repo-check",  # without it, it refuses to work outside a git repository
            *(("-m", self.model) if self.model else ()),
            *_instructions(request.instructions),
            *(("resume", request.session_id) if request.session_id else ()),
            "-",
        )

    def environment(self, _request: Request, /) -> dict[str, str]:
        """Nothing."""
        return {}

    def read(self, request: Request, exited: Exited, /) -> AgentOutcome:
        """Success: exit code 0 and `turn.completed`, in the thread asked for; the reply is the last message before."""
        if exited.ending == "not_started":
            return not_started(exited, request)
        seen = _Seen.in_file(exited.stdout)
        kept = seen.thread_id or (None if request.is_new else request.session_id)
        stderr = _READING.sub("", tail(exited.stderr))
        if outcome := _not_resumed(request, exited, seen, stderr):
            return outcome
        failure = cut_short(exited, kept)
        if failure and (not seen.completed or exited.ending == "cancelled"):
            return failure
        if seen.completed and (exited.code == 0 or failure):
            return seen.answer()
        return seen.failure(request, exited, stderr, kept)

    def resumable(self, request: Request, stdout: Path, /) -> str | None:
        """The thread that it named (which is on disk by then), or the one that was to be resumed."""
        return _Seen.in_file(stdout).thread_id or (None if request.is_new else request.session_id)

    def activity(self, stdout: Path, /) -> str | None:
        """What the newest of its events tells: an item that began, or nothing but thinking."""
        for event in recent(stdout):
            kind, item = event.get("type"), words(dig(event, "item", "type"))
            if kind == "item.started":
                return _ITEMS.get(item) or using(words(dig(event, "item", "tool")))
            if kind in ("item.completed", "turn.started") and item != "error":  # such items are warnings
                return "thinking"
        return None


@dataclass(slots=True)
class _Seen:
    """What the events of one run came to."""

    thread_id: str | None = None
    completed: bool = False
    reply: str = ""
    error: str = ""
    worked: bool = False
    usage: Usage | None = field(default=None)

    @classmethod
    def in_file(cls, stdout: Path) -> _Seen:
        seen = cls()
        for event in events(stdout):
            seen.add(event)
        return seen

    def add(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "thread.started":
            name = words(event.get("thread_id"))
            self.thread_id = name if is_uuid(name) else None
        elif kind in ("item.started", "item.completed"):
            item = dig(event, "item", "type")
            self.worked = self.worked or item != "error"  # such items are warnings
            if kind == "item.completed" and item == "agent_message" and not self.completed:
                self.reply = words(dig(event, "item", "text"))
        elif kind == "turn.completed":
            self.completed = True
            self.usage = _usage(event.get("usage"))
        elif kind == "turn.failed":
            self.completed = False
            self.error = words(dig(event, "error", "message"))

    def answer(self) -> AgentOutcome:
        """The reply of a completed turn."""
        if self.thread_id is None:
            return AgentFailed("bad_output", "it did not name its thread", None, self.usage)
        reply = readable(self.reply)
        if is_blank(reply):
            return AgentFailed("empty_reply", "the turn held no message", self.thread_id, self.usage)
        return Answered(RunOutput(reply, self.thread_id, self.usage))

    def failure(self, request: Request, exited: Exited, stderr: str, kept: str | None) -> AgentOutcome:
        """What a turn that did not complete came to."""
        if not self.error:
            said = detail(stderr) if exited.code != 0 else "it ended without a final event"
            code = cause(said) if exited.code != 0 else "bad_output"
            return AgentFailed(code, said or exit_words(exited), kept)
        code = cause(self.error)
        can_retry = not request.is_new and not self.worked
        if code == "prompt_too_long":
            return SessionMissing("context_full") if can_retry else AgentFailed(code, detail(self.error), None)
        if can_retry and _UNREADABLE.search(self.error):
            return SessionMissing("missing")
        return AgentFailed(code, detail(self.error), kept)


def _not_resumed(request: Request, exited: Exited, seen: _Seen, stderr: str) -> AgentOutcome | None:
    """What came of a thread that was to be resumed and was not; None where it was, or a new one was asked for."""
    if request.is_new or seen.thread_id == request.session_id:
        return None
    if seen.thread_id is not None:
        return AgentFailed("bad_output", "another thread answered than was asked for", None, seen.usage)
    if exited.code != 0 and f"no rollout found for thread id {request.session_id}" in stderr:
        return SessionMissing("missing")
    if exited.code != 0 and f"thread {request.session_id} already has an active writer" in stderr:
        return ComeBackLater("another process has the thread open", _BUSY_SECONDS)
    return None


def _usage(used: object) -> Usage | None:
    """Tokens of the thread so far, those of this run among them."""
    if not isinstance(used, dict):
        return None
    return Usage(
        input_tokens=number(used.get("input_tokens")),
        output_tokens=number(used.get("output_tokens")),
        cumulative=frozenset({"input_tokens", "output_tokens"}),
    )


def _instructions(text: str) -> tuple[str, str]:
    """The option that carries the instructions: in itself, or in a profile where they are too long for an argument."""
    # A JSON string with raw non-ASCII is a TOML basic string, but for DEL; unquoted, `true` would be no text.
    quoted = json.dumps(encode(text.replace("\0", "")).decode(), ensure_ascii=False).replace("\x7f", "\\u007f")
    setting = f"developer_instructions={quoted}".encode()
    return ("-p", _profile(setting)) if len(setting) > _ARGUMENT_LIMIT else ("-c", setting.decode())


def _profile(setting: bytes) -> str:
    """The name of a profile in CODEX_HOME that holds `setting`; written once for each content."""
    name = f"push-{hashlib.sha256(setting).hexdigest()[:16]}"
    home = Path(environ.get("CODEX_HOME") or "~/.codex").expanduser()
    path = home / f"{name}.config.toml"
    if not path.exists():
        draft = home / f".{name}.{os.getpid()}"
        with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(setting + b"\n")
        draft.replace(path)
    return name
