"""Reading what an agent printed, in bounded memory, and the outcomes that every adapter shares.

Owns lines, excerpts, blank replies, the encoding of prompts, and how a run's ending maps to a failure; does not know
any CLI.
"""

from __future__ import annotations

import errno
import json
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from push.model.values import AgentFailed, AgentOutcome, ComeBackLater, Exited

#: A longer line is passed over: no CLI's final event comes near it, and it would have to be held in memory whole.
LINE_LIMIT = 16 * 1024 * 1024

#: How much of standard error is looked at, from its end (what the CLIs say last is why they ended).
STDERR_LIMIT = 64 * 1024

DETAIL_LIMIT = 500

_SURROGATE = re.compile("[\ud800-\udfff]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

#: Characters that show nothing although Unicode counts them as letters, symbols or marks.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))

#: The program file was being replaced, or the machine was out of processes or memory: gone in a moment.
_TRANSIENT = frozenset({errno.ETXTBSY, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in its usual form, and nothing else."""
    return _UUID.fullmatch(text) is not None


def encode(text: str) -> bytes:
    """`text` as UTF-8; half a surrogate pair, which has no encoding, becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", text).encode()


def readable(text: str) -> str:
    """A reply as it can be stored anywhere: no NUL, no lone surrogate, no blank end."""
    return _SURROGATE.sub("\ufffd", text.replace("\0", "")).rstrip()


def is_blank(text: str) -> bool:
    """Whether there is nothing to see in `text`: only spaces, controls, and characters of no width."""
    return all(
        char.isspace() or char in _FILLERS or unicodedata.category(char) in ("Cc", "Cf", "Cn", "Zl", "Zp", "Zs")
        for char in text
    )


def lines(path: Path) -> Iterator[bytes]:
    """The file's lines, split at newlines alone (the CLIs print U+2028 and U+0085 raw); too long ones are left out."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        while line := file.readline(LINE_LIMIT):
            if len(line) < LINE_LIMIT or line.endswith(b"\n"):
                yield line
                continue
            while (rest := file.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
                pass


def events(path: Path, skip: tuple[bytes, ...] = ()) -> Iterator[dict[str, Any]]:
    """The JSON objects of a JSONL file, also those of a line that holds an array of them. Other lines are no events.

    Lines that begin with one of `skip` are not parsed.
    """
    for line in lines(path):
        if line.startswith(skip) or line[:1] not in (b"{", b"["):
            continue
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict):
                yield item


def tail(path: Path, limit: int = STDERR_LIMIT) -> str:
    """The last `limit` bytes of a file as text."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - limit))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def detail(text: str) -> str:
    """The last non-blank line of what a program said, as one short printable line."""
    last = next((line for line in reversed(text.splitlines()) if not is_blank(line)), "")
    line = "".join(char if char.isprintable() else " " for char in last).strip()
    return line if len(line) <= DETAIL_LIMIT else line[: DETAIL_LIMIT - 1] + "…"


def number(value: object) -> int | None:
    """`value` where it is a count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def not_started(exited: Exited) -> AgentOutcome:
    """The outcome of a run whose program could not be started."""
    code = exited.errno or 0
    why = os.strerror(code) if code else "the runner could not start it"
    if code in _TRANSIENT:
        return ComeBackLater(why, after_seconds=5.0)
    if code in (errno.ENOENT, errno.ENOTDIR):
        return AgentFailed("not_found", why)
    if code in (errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.EISDIR):
        return AgentFailed("not_executable", why)
    return AgentFailed("not_started", why)


def cut_short(exited: Exited, session_id: str | None = None) -> AgentFailed | None:
    """The failure of a run that we ended, or whose output is not whole; None where it ended by itself."""
    if exited.ending in ("timed_out", "cancelled", "terminated", "output_limit"):
        return AgentFailed(exited.ending, f"ended after {exited.duration_ms} ms", session_id)
    if exited.truncated:
        return AgentFailed("output_limit", "its output was cut at the limit", session_id)
    return None


def exit_words(exited: Exited) -> str:
    """How the process ended, in words."""
    code = exited.code
    if code is None:
        return "ended in an unknown way"
    return f"ended by signal {-code}" if code < 0 else f"exit code {code}"
