"""What the imitated CLIs share: conversations on disk, and behaviour on demand.

The last `[[verb argument]]` of the prompt says how to behave; without one the answer is `turn N: <prompt>`.
Standard library only, and quick to start: the imitations run as programs of their own.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(os.environ["FAKE_HOME"])

_REPLIES = {
    "empty": "",
    "newline": "\n",
    "zero-width": "\u200b\u2060 \ufeff\n",
    "separators": "a\u2028b\u2029c\x85d",
    "lone-surrogate": "half \ud83d pair",
    "nul": "a\0b",
    "quotes-error": "No conversation found with session ID: {id} / no rollout found for thread id {id} / "
    "No session found matching '{id}'",
}


class Conversation:
    """One session: the instructions that it began with, and what was said."""

    def __init__(self, session_id: str) -> None:
        self.id = session_id
        self._file = ROOT / f"{session_id}.json"
        self.exists = self._file.exists()
        known: dict[str, Any] = json.loads(self._file.read_text()) if self.exists else {}
        self.instructions: str = known.get("instructions", "")
        self.said: list[list[str]] = known.get("said", [])

    def save(self) -> None:
        """Write it to disk."""
        self._file.write_text(json.dumps({"instructions": self.instructions, "said": self.said}))

    def answer(self, prompt: str) -> str:
        """The reply, which is then part of the conversation."""
        verb, argument = directive(prompt)
        if verb == "huge":
            reply = "0123456789" * (int(argument) // 10)
        elif verb == "instructions":
            reply = self.instructions
        else:
            reply = _REPLIES.get(verb, f"turn {len(self.said) + 1}: {prompt}").replace("{id}", self.id)
        self.said.append([prompt, reply])
        self.save()
        return reply


def directive(prompt: str) -> tuple[str, str]:
    """The verb and the argument of the last `[[…]]`."""
    found = re.findall(r"\[\[([a-z-]+) ?([^\]]*)\]\]", prompt)
    return found[-1] if found else ("", "")


def before_answering(verb: str, argument: str) -> None:
    """What may happen to any program."""
    if verb == "hang":
        hang()
    if verb == "crash":
        sys.stderr.write("Traceback:\nboom\n")
        sys.exit(3)
    if verb == "rubbish":
        sys.stdout.buffer.write(b'{"type": [[[\n{}\nnull\n"x"\n[1, {"type": "result"}]\n\xff\xfe\n' * 50)
        sys.exit(0)
    if verb == "nothing":
        sys.exit(0)
    if verb == "noise":
        sys.stderr.write("x" * int(argument))


def emit(event: object, verb: str = "") -> None:
    """Print a line of JSON as the CLIs do: non-ASCII as it is, lone surrogates escaped."""
    line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    data = re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", line).encode()
    if verb == "broken-text":
        data = data.replace(b"[[broken-text]]", b"[[\xff\xfe]]")
    if verb == "cut":
        data = data[: len(data) // 2]
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def after_answering(verb: str) -> None:
    """Stay, where a program is to finish its work and not end."""
    if verb == "answer-and-hang":
        hang()


def hang() -> None:
    """Say that it has come so far, and stay."""
    (ROOT / "hanging").touch()
    time.sleep(600)


def prompt_on_stdin() -> str:
    """All of standard input."""
    return sys.stdin.buffer.read().decode("utf-8", "strict")


def refuse(code: int, text: str) -> NoReturn:
    """End with a line on standard error."""
    sys.stderr.write(text + "\n")
    sys.exit(code)
