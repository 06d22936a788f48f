"""Floors: the least that the same work costs on this machine without Push.

Owns what is run for them; does not own when (each is taken in turn with what it stands beside).
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.gateway import BARE, PYTHON, Broken

POOL_THREADS = 8
#: What Push stands on; importing it is the least that its long-lived processes pay.
LIBRARIES = "click, pydantic, peewee, huey"

_FORK_CAT = """
import os
pid = os.fork()
if pid == 0:
    os.execvp("cat", ["cat"])
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def pool_of_bare_runners(messages: int) -> tuple[float, float]:
    """Seconds, and seconds of CPU, for `messages` through 8 threads that each start a bare Python which runs `cat`."""

    def answer(number: int) -> bool:
        text = b"message %d\n" % number
        done = subprocess.run([*BARE, "-c", _FORK_CAT], input=text, stdout=subprocess.PIPE, check=True)
        return done.stdout == text

    before = _spent()
    began = time.monotonic()
    with ThreadPoolExecutor(POOL_THREADS) as pool:
        right = sum(pool.map(answer, range(messages)))
    if right != messages:
        raise Broken("a bare runner lost a message")
    return time.monotonic() - began, _spent() - before


def _spent() -> float:
    """CPU seconds of this process and of its ended children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def bare_python() -> float:
    """Milliseconds of `python -I -S -c pass`, from start to end."""
    return timed([*BARE, "-c", "pass"])


def libraries() -> float:
    """Milliseconds of a Python that only imports the libraries."""
    return timed([PYTHON, "-c", f"import {LIBRARIES}"])


def timed(command: list[str]) -> float:
    """Milliseconds of a command, from start to end."""
    began = time.monotonic()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return (time.monotonic() - began) * 1000


def fsync() -> float:
    """Median milliseconds of an fsync of 4 KiB in the folder that the measurements use."""
    samples = []
    with tempfile.NamedTemporaryFile(dir=Path(tempfile.gettempdir())) as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()
            began = time.monotonic()
            os.fsync(file.fileno())
            samples.append((time.monotonic() - began) * 1000)
    return median(samples)
