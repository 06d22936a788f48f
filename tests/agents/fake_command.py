"""Imitates a program of the owner's: the message on standard input, the reply on standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from scripted import (  # type: ignore[import-not-found]  # it stands beside this program
    Conversation,
    after_answering,
    before_answering,
    directive,
    prompt_on_stdin,
    refuse,
)


def main(arguments: list[str]) -> None:
    if arguments:
        refuse(2, f"what is {arguments[0]}?")
    prompt = prompt_on_stdin()
    talk = Conversation("one")
    talk.instructions, talk.said = Path(os.environ["PUSH_INSTRUCTIONS"]).read_text(), []
    verb, argument = directive(prompt)
    before_answering(verb, argument)
    if verb == "broken-text":
        prompt = prompt.replace("broken-text", "\udcff\udcfe")
    if verb == "interrupted":
        prompt = os.environ.get("PUSH_INTERRUPTED", "no")
    sys.stdout.buffer.write(
        talk.answer(prompt).encode("utf-8", "surrogateescape" if verb == "broken-text" else "replace")
    )
    sys.stdout.buffer.flush()
    after_answering(verb)


main(sys.argv[1:])
