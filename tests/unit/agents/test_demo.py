from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from push.agents import demo


def answer(message: bytes, **environment: str) -> str:
    """What the program says, run as the gateway runs it."""
    program = [sys.executable, "-I", str(Path(demo.__file__))]
    return subprocess.run(program, input=message, env=environment, capture_output=True, check=True).stdout.decode()


def test_it_greets_and_says_what_it_is() -> None:
    said = answer(b"hello!\n")
    assert said.startswith("Hello!")
    assert "only the demonstration" in said
    assert "push init --agent" in said


def test_it_shows_what_it_read() -> None:
    assert "You wrote: what\n" in answer(b"what")
    assert "You wrote: caf\ufffd 日本" in answer("caf\udcff 日本".encode(errors="surrogateescape"))
    long = answer(b"word " * 1000)
    assert "… (4999 characters)" in long
    assert len(long) < 1000
    assert "empty message" in answer(b" \n")


def test_it_says_that_it_was_interrupted() -> None:
    assert answer(b"what", PUSH_INTERRUPTED="1").startswith("I was interrupted")


def test_it_imports_nothing_of_push() -> None:
    code = (
        f"import runpy, sys; runpy.run_path({demo.__file__!r}); sys.exit(any('push' in name for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.DEVNULL, check=True)
