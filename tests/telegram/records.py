"""What the fake Bot API remembers: requests, messages that it took, scripted faults, and how it refuses.

Owns these values and their JSON; does not own how they come about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

#: What a scripted fault does to a request.
#: `answer`: a fixed status and body, not executed. `close`: not executed, the connection ends without an answer.
#: `lose`: executed, then the connection is reset. `silence`: not executed, no answer for `seconds`, then cut.
#: `late`: executed, answered after `seconds`. `trickle`: executed, the answer is spread over `seconds`.
FaultKind = Literal["answer", "close", "lose", "silence", "late", "trickle"]
EXECUTING: frozenset[FaultKind] = frozenset({"lose", "late", "trickle"})


@dataclass(slots=True)
class Request:
    """One call of a bot, from its arrival on. Times are in seconds; `status` is None where no answer was sent."""

    number: int
    method: str
    parameters: dict[str, Any]
    chat: int | None
    monotonic: float
    wall: float
    done: float | None = None  # monotonic
    status: int | None = None
    description: str = ""
    retry_after: int | None = None
    result: Any = None
    fault: str | None = None
    executed: bool = False


@dataclass(slots=True)
class Sent:
    """One message that the bot sent, as a person sees it now; `versions` are the texts it had before."""

    chat: int
    message_id: int
    kind: str  # text, voice, audio, photo, document or rich
    text: str  # of a file: its caption
    entities: list[dict[str, Any]]
    thread: int | None
    reply_to: int | None
    reply_markup: dict[str, Any] | None
    monotonic: float
    wall: float
    file_id: str | None = None
    silent: bool = False
    edits: int = 0
    deleted: bool = False
    versions: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Fault:
    """What happens to the next `times` calls of a method (None: until cleared), in one chat or in all."""

    method: str  # "*" is every method
    kind: FaultKind
    chat: int | None = None
    times: int | None = 1
    status: int = 500
    body: Any = None  # a dict is sent as JSON, a string as HTML
    seconds: float = 0.0

    def fits(self, method: str, chat: int | None) -> bool:
        """Whether it meets this call."""
        return self.method in {"*", method} and self.chat in {None, chat}


@dataclass(frozen=True, slots=True)
class Limits:
    """How fast a bot may send. Periods are in seconds; `tolerance` is what each may be short of."""

    chat_period: float = 1.0
    group_messages: int = 20
    group_period: float = 60.0
    overall_messages: int = 30
    overall_period: float = 1.0
    tolerance: float = 0.05


class Refused(Exception):
    """A call that is answered with an error of the Bot API."""

    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        """What Telegram answers."""
        return error_body(self.status, self.description, self.parameters)


def bad(description: str) -> Refused:
    """The answer 400."""
    return Refused(400, f"Bad Request: {description}")


def error_body(status: int, description: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """The JSON of an error; `parameters` is left out where it says nothing."""
    body: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    return {**body, "parameters": parameters} if parameters else body
