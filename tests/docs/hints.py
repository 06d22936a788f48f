"""What may stand behind `next:`: one command that can be run as it stands.

Owns telling one from a sentence; does not own where hints come from (`tests.docs.test_errors`, `tests.conftest`).
"""

from __future__ import annotations

import re
import shlex

#: Programs that a hint may name beside `push`.
PROGRAMS = frozenset(
    [
        "cat",
        "chmod",
        "claude",
        "codex",
        "cp",
        "curl",
        "df",
        "echo",
        "env",
        "export",
        "fuser",
        "git",
        "journalctl",
        "kill",
        "launchctl",
        "loginctl",
        "ls",
        "mkdir",
        "mv",
        "npm",
        "pi",
        "ps",
        "python",
        "python3",
        "rm",
        "sh",
        "sudo",
        "systemctl",
        "tail",
        "timedatectl",
        "touch",
        "ulimit",
        "unset",
    ]
)
_ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")


def is_command(text: str) -> bool:
    """Whether a shell would take it, and its first word is a program that we know."""
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    return bool(words) and (words[0] == "push" or words[0].rsplit("/", 1)[-1] in PROGRAMS)
