"""The agent `command`: any program that reads a message from standard input and writes the reply to standard output.

Owns how such a program is called and read; knows nothing of any particular one. No sessions: what it is to know of
earlier messages stands before the message, where the configuration asks for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from push.agents.base import OUTPUT_CAP
from push.agents.reading import cut_short, encode, exit_words, head, is_blank, not_started, one_line, readable, tail
from push.model.values import AgentFailed, AgentOutcome, Answered, Exited, Request, RunOutput

#: Bytes of a reply that is taken; a longer one is no chat message. (The runner's cap is for the disk.)
REPLY_LIMIT: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its first arguments. `PUSH_INSTRUCTIONS` names the file with the instructions."""

    program: tuple[str, ...]

    name: ClassVar[str] = "command"
    resumes: ClassVar[bool] = False
    reads_instructions_once: ClassVar[bool] = False
    takes_model: ClassVar[bool] = False
    output_cap: ClassVar[int] = OUTPUT_CAP
    drop_prefix: ClassVar[bytes | None] = None
    max_prompt: ClassVar[int | None] = None

    def new_session_id(self) -> str | None:
        """None: it has no sessions."""
        return None

    def accepts(self, _session_id: str, /) -> bool:
        """False: it has no sessions."""
        return False

    def prompt_bytes(self, request: Request) -> bytes:
        """The message as it is."""
        return encode(request.prompt)

    def argv(self, request: Request) -> tuple[str, ...]:
        """The configured program, and nothing more."""
        if request.session_id is not None:
            raise ValueError("the agent `command` has no sessions")
        return self.program

    def environment(self, request: Request) -> dict[str, str]:
        """`PUSH_INSTRUCTIONS`, and `PUSH_INTERRUPTED=1` where an earlier run of this message was killed."""
        return {"PUSH_INSTRUCTIONS": str(request.instructions_file)} | (
            {"PUSH_INTERRUPTED": "1"} if request.interrupted else {}
        )

    def read(self, request: Request, exited: Exited, /) -> AgentOutcome:
        """Its standard output, where it ended by itself with exit code 0 and said something."""
        if exited.ending == "not_started":
            return not_started(exited, request)
        if failure := cut_short(exited):
            return failure
        if exited.code != 0:
            said = one_line(tail(exited.stderr).rstrip().rpartition("\n")[2])  # of a traceback, the last line
            return AgentFailed("agent_error", f"{exit_words(exited)}: {said}" if said else exit_words(exited))
        output = head(exited.stdout, REPLY_LIMIT + 1)
        if len(output) > REPLY_LIMIT:
            return AgentFailed("output_limit", f"a reply of more than {REPLY_LIMIT} bytes")
        reply = readable(output.decode("utf-8", "replace"))
        if is_blank(reply):
            return AgentFailed("empty_reply", "standard output was empty")
        return Answered(RunOutput(reply, None))

    def resumable(self, _request: Request, _stdout: Path, /) -> str | None:
        """None: it has no sessions."""
        return None

    def activity(self, _stdout: Path, /) -> str | None:
        """None: what it prints is its reply."""
        return None
