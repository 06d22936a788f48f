"""What an agent CLI must answer to be one of ours: the adapter's contract.

Owns the protocol; does not own how a process is run (`process.py`, `runner.py`) nor what the gateway does with an
outcome. An adapter is a frozen value: it holds its program and nothing that changes.

The contract. `tests/contract/test_agents.py` holds every registered adapter to it.

1.  The prompt goes to standard input, whole, and never into argv: it would show in `ps`, break at 128 kB, and be
    parsed. `argv` names no sandbox, approval, permission or tool setting; those are the owner's.
2.  `prompt_bytes` is UTF-8, always. Text that the CLI would act on before any model sees it (a command, an attached
    file) is made inert and otherwise left as it was.
3.  `read` never raises for what a program printed or did: rubbish is `AgentFailed`. It looks at `stdout` and `stderr`
    once, line by line, in bounded memory.
4.  Success is the CLI's own final event and a reply with something to see in it; an exit code alone is neither.
5.  `SessionMissing` and `ComeBackLater` are only for what provably ran nothing: the gateway answers the first with a
    second run, and the second with a later one. Recognised by the CLI's exact words, which must hold the session's
    own id, on a stream that no model writes to.
6.  A run that was cut short (deadline, shutdown) after its final event was printed has answered.
7.  A session id enters argv only if `accepts` says yes; the caller asks, and starts a new session otherwise.
8.  `AgentFailed.detail` is one short line of the CLI's own words, for the ledger and never for the person; it holds
    no reply and no prompt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from push.model.values import AgentOutcome, Exited, Request

#: Bytes of output after which the runner ends a run.
OUTPUT_CAP = 64 * 1024 * 1024


class Adapter(Protocol):
    """One agent CLI."""

    @property
    def name(self) -> str:
        """The word in the configuration, the audit and state.json."""

    @property
    def resumes(self) -> bool:
        """Whether it has sessions that a later run can continue."""

    @property
    def reads_instructions_once(self) -> bool:
        """Whether a resumed session keeps the instructions it began with; a change then needs a new session."""

    @property
    def takes_model(self) -> bool:
        """Whether a model can be chosen for it; its factory is given the name."""

    @property
    def output_cap(self) -> int:
        """Bytes of output (after `drop_prefix`) at which the runner ends a run."""

    @property
    def drop_prefix(self) -> bytes | None:
        """Output lines that begin so are noise: the runner need not keep them."""

    @property
    def max_prompt(self) -> int | None:
        """Characters of a prompt that the CLI takes for sure; None where no limit is known."""

    def new_session_id(self) -> str | None:
        """An id for a new session, where the adapter chooses it; None where the CLI does."""

    def accepts(self, session_id: str, /) -> bool:
        """Whether this could be one of the CLI's session ids, by its shape."""

    def prompt_bytes(self, request: Request, /) -> bytes:
        """What to write to the program's standard input before closing it."""

    def argv(self, request: Request, /) -> tuple[str, ...]:
        """The command line. Raises ValueError where `accepts(request.session_id)` is false."""

    def environment(self, request: Request, /) -> dict[str, str]:
        """Variables to add to the agent's environment."""

    def read(self, request: Request, exited: Exited, /) -> AgentOutcome:
        """What the run came to, from how it ended and what it printed."""

    def resumable(self, request: Request, stdout: Path, /) -> str | None:
        """The session that a killed or failed run left and that can be resumed; None where there is none."""

    def activity(self, stdout: Path, /) -> str | None:
        """What a run is doing now ("running a command"), from the end of what it printed so far; None: not said.

        Names of tools are all that is told of its words. Reads a bounded piece of the file, and never raises.
        """
