"""What a channel offers: reading updates; rendering, sending, pacing; and the small signs of life.

Owns the contract; does not own any channel. A provider never sees a database, and reports outcomes as values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from push.model.values import Inbound, Pace, Part, Rendered, SendOutcome


@dataclass(frozen=True, slots=True)
class Allowlist:
    """Who is let through: stable numeric ids of people, and of chats in which everybody may speak."""

    users: frozenset[int]
    chats: frozenset[int]


@dataclass(frozen=True, slots=True)
class Edited:
    """A person changed a message that was sent before. `message_ref` is the one its Inbound had."""

    message_ref: str
    sender: str
    text: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """A person pressed a button: `data` is what the button was posted with, `press_id` answers the press.

    `receipt` names the message with the button, where the service says it.
    """

    press_id: str
    sender: str
    conversation: str
    target: str
    data: str
    receipt: str | None


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing to do. `reason` is a stable code, such as not_allowlisted, group_not_addressed or malformed.

    `sender` and `chat` are ids, where the update has them. Of an unlisted sender nothing but these is kept.
    """

    reason: str
    kind: str
    sender: str | None = None
    chat: str | None = None


Seen = Inbound | Edited | Pressed | Ignored


@dataclass(frozen=True, slots=True)
class Update:
    """One thing that the channel reported. `position` is the cursor once it is stored.

    `raw` is its JSON, of accepted senders only ("" otherwise): kept where the message can never be stored.
    """

    position: int
    seen: Seen
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """The channel was asked, and answered: these updates, in its order."""

    updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class Later:
    """The channel could not be read now. `seconds` is what it asks to wait at least, where it does."""

    reason: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The channel cannot be read until a person changes something: `hint` says what, `about` where it stands."""

    reason: str
    hint: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.about})" if self.about else self.reason


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose messages are read. `owner` is what the cursor belongs to; `label` is for people (`@name`)."""

    owner: str
    label: str


class Reader(Protocol):
    """A channel that is polled. Used by one thread."""

    @property
    def name(self) -> str:
        """As in the settings and in front of a conversation's key."""
        ...

    def identify(self) -> Identity | Later | Closed:
        """Ask the service who we are. Never raises."""
        ...

    def poll(
        self, cursor: int | None, allowed: Callable[[], Allowlist], wait_seconds: int = 25
    ) -> Read | Later | Closed:
        """Wait up to `wait_seconds` for updates after `cursor` (None: all that the service keeps). Never raises.

        Only after `identify` succeeded. What was returned before must be stored: asking for more confirms it.
        `allowed` is asked when updates came, since people are let in while we wait.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class Channel(Protocol):
    """A channel that delivers by itself. Safe to use from several threads at once."""

    @property
    def name(self) -> str:
        """As in the settings and in front of a conversation's key."""
        ...

    @staticmethod
    def render(markdown: str) -> Rendered:
        """An agent's reply as parts within the channel's limits, nothing of it lost. Never raises."""
        ...

    def send(self, target: str, part: Part, note: str = "") -> SendOutcome:
        """Send one part, once. `note` is put before its text ("possibly a repeat", "late"). Never raises."""
        ...

    def paces(self, target: str) -> tuple[Pace, ...]:
        """The budgets that a send to `target` draws from; the first is the chat's own, which a pause stops."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class Presence(Protocol):
    """What a channel can show beside its messages. Best effort: an outcome other than Delivered is not retried."""

    def typing(self, target: str) -> SendOutcome:
        """Show that an answer is being written, for about five seconds."""
        ...

    def post(self, target: str, text: str, stop_button: str | None = None) -> SendOutcome:
        """A short message whose receipt `edit` and `remove` take. `stop_button` is what its button sends back."""
        ...

    def edit(self, target: str, receipt: str, text: str, stop_button: str | None = None) -> SendOutcome:
        """Replace the text of a posted message. One that is as it should be counts as done."""
        ...

    def answer_press(self, press_id: str, text: str) -> SendOutcome:
        """Show `text` (up to 200 characters) to the person who pressed a button, and end its spinning."""
        ...

    def announce_commands(self, commands: tuple[tuple[str, str], ...]) -> SendOutcome:
        """Tell the service which commands there are, as (name without slash, description), for its menu."""
        ...

    def remove(self, target: str, receipt: str) -> SendOutcome:
        """Remove a posted message. One that is gone already counts as done; Refused(final) when it never can be."""
        ...
