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

from push.model.values import AgentFailed, AgentOutcome, ComeBackLater, Exited, Request
from push.paths import open_plain

#: A longer line is passed over: no CLI's final event comes near it, and it would have to be held in memory whole.
LINE_LIMIT = 16 * 1024 * 1024

_CHUNK = 64 * 1024

#: How much of standard error is looked at, from its end (what the CLIs say last is why they ended).
STDERR_LIMIT = 64 * 1024

DETAIL_LIMIT = 500

#: U+200B: put beside a character that a CLI would act on. Nobody sees it, and no CLI trims it.
ZERO_WIDTH = "\u200b"

#: How much of a running agent's output is looked at, from its end.
RECENT_LIMIT = 256 * 1024

_TOOL = re.compile(r"[A-Za-z][\w.-]{0,39}", re.ASCII)
_TOOLS = {
    "bash": "running a command",
    **dict.fromkeys(("read", "ls", "find", "grep"), "reading files"),
    **dict.fromkeys(("edit", "write"), "changing files"),
}

_SURROGATE = re.compile("[\ud800-\udfff]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

#: Characters that show nothing although Unicode counts them as letters, symbols or marks.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))

#: The program file was being replaced, or the machine was out of processes or memory: gone in a moment.
_TRANSIENT = frozenset({errno.ETXTBSY, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
_TRANSIENT_SECONDS = 5.0


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID as the CLIs write theirs (small letters), and nothing else."""
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
        file = open_plain(path)
    except FileNotFoundError:
        return
    with file:
        while line := file.readline(LINE_LIMIT):
            if len(line) < LINE_LIMIT or line.endswith(b"\n"):
                yield line
                continue
            del line
            while (rest := file.readline(_CHUNK)) and not rest.endswith(b"\n"):
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


def head(path: Path, limit: int) -> bytes:
    """The first `limit` bytes of a file."""
    try:
        with open_plain(path) as file:
            return file.read(limit)
    except FileNotFoundError:
        return b""


def tail(path: Path, limit: int = STDERR_LIMIT) -> str:
    """The last `limit` bytes of a file as text."""
    try:
        with open_plain(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - limit))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def recent(path: Path, limit: int = RECENT_LIMIT) -> Iterator[dict[str, Any]]:
    """The JSON objects among the last `limit` bytes of a JSONL file that is still being written, newest first.

    None where it cannot be read. A line that is cut, at either end, is no event.
    """
    try:
        with open_plain(path) as file:
            start = max(0, file.seek(0, os.SEEK_END) - limit)
            file.seek(start)
            found = file.read(limit).split(b"\n")
    except OSError:
        return
    for line in reversed(found[1:-1] if start else found[:-1]):
        try:
            value = json.loads(line) if line[:1] == b"{" else None
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def using(tool: str) -> str:
    """That an agent is using a tool, in words where it is a usual one. A name that is no plain word is not told."""
    if known := _TOOLS.get(tool.lower()):
        return known
    return f"using {tool}" if _TOOL.fullmatch(tool) else "using a tool"


def detail(text: str) -> str:
    """What a CLI said, as one short printable line: the last that begins as an error, else the first of all."""
    said = [line for line in text.split("\n") if not is_blank(line)]
    return one_line(
        next((line for line in reversed(said) if line.lower().startswith("error")), said[0] if said else "")
    )


def one_line(text: str) -> str:
    """`text` without line breaks and controls, cut to `DETAIL_LIMIT` characters."""
    line = "".join(char if char.isprintable() else " " for char in text[: 2 * DETAIL_LIMIT]).strip()
    return line if len(line) <= DETAIL_LIMIT else line[: DETAIL_LIMIT - 1] + "…"


def words(value: object) -> str:
    """`value` where it is a text, else nothing."""
    return value if isinstance(value, str) else ""


def dig(value: object, *path: str | int) -> object:
    """What stands at `path` inside parsed JSON; None where any step is missing or of another kind."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def number(value: object) -> int | None:
    """`value` where it is a count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def not_started(exited: Exited, request: Request) -> AgentOutcome:
    """The outcome of a run whose program could not be started. A session that was to be resumed is as it was."""
    code = exited.errno or 0
    why = os.strerror(code) if code else "the runner could not start it"
    kept = None if request.is_new else request.session_id
    if code in _TRANSIENT:
        return ComeBackLater(why, _TRANSIENT_SECONDS)
    if code == errno.ENOENT:
        return AgentFailed("not_found", why, kept)
    if code in (errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.EISDIR):
        return AgentFailed("not_executable", why, kept)
    # The runner says ENOTDIR where the work dir is not there.
    return AgentFailed("not_started", "the work dir is not there" if code == errno.ENOTDIR else why, kept)


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
