"""Imitates `codex exec --json`."""

from __future__ import annotations

import os
import sys
import tomllib
import uuid
from pathlib import Path

from scripted import (  # type: ignore[import-not-found]  # it stands beside this program
    Conversation,
    after_answering,
    before_answering,
    directive,
    emit,
    prompt_on_stdin,
    refuse,
)

_ERRORS = {
    "401": "unexpected status 401 Unauthorized: who are you, url: http://127.0.0.1/v1/responses",
    "429": "exceeded retry limit, last status: 429 Too Many Requests",
    "500": "We’re currently experiencing high demand, which may cause temporary errors.",
    "overflow": "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.",
    "refuse": "stream disconnected before completion: Incomplete response returned, reason: content_filter",
    "unreadable": '{"error": {"message": "The encrypted content gAAA could not be verified.", "type": '
    '"invalid_request_error", "code": "invalid_encrypted_content"}}',
}


def main(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        print("codex-cli 0.171.0")
        return
    if arguments[0] != "exec" or arguments[-1] != "-":
        sys.stdout.write("Usage: codex [OPTIONS]\n")  # help, and exit code 0: the real one does that too
        return
    options = arguments[1:-1]
    thread_id = options.pop() if options[-2:-1] == ["resume"] else None
    if thread_id:
        options.pop()
    if "--skip-git-repo-check" not in options:
        refuse(1, "Not inside a trusted directory and --skip-git-repo-check was not specified.")
    talk = open_thread(thread_id)
    talk.instructions = talk.instructions or instructions(options)
    talk.save()
    prompt = prompt_on_stdin()
    emit({"type": "thread.started", "thread_id": talk.id})
    emit({"type": "turn.started"})
    emit({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "a warning"}})
    verb, argument = directive(prompt)
    if verb.startswith("work-then-"):
        emit({"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "command": "rm x"}})
        verb = verb.removeprefix("work-then-")
    before_answering(verb, argument)
    if verb == "other-thread":
        emit({"type": "thread.started", "thread_id": str(uuid.uuid4())})
    error = _ERRORS.get(argument if verb == "fail" else verb)
    if error:
        emit({"type": "error", "message": f"Reconnecting... 1/5 ({error})"})
        emit({"type": "turn.failed", "error": {"message": error}})
        sys.exit(1)
    emit({"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "let me see"}})
    emit({"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": talk.answer(prompt)}}, verb)
    emit({"type": "item.completed", "item": {"id": "item_3", "type": "reasoning", "text": "all done"}})
    used = {"input_tokens": 100 * len(talk.said), "cached_input_tokens": 0, "output_tokens": 4 * len(talk.said)}
    emit({"type": "turn.completed", "usage": used}, verb)
    after_answering(verb)


def open_thread(thread_id: str | None) -> Conversation:
    """The thread to resume, or a new one, also for an id that is none."""
    try:
        talk = Conversation(str(uuid.UUID(thread_id)) if thread_id else str(uuid.uuid4()))
    except ValueError:
        return Conversation(str(uuid.uuid4()))
    if thread_id and not talk.exists:
        refuse(
            1, f"Error: thread/resume: thread/resume failed: no rollout found for thread id {thread_id} (code -32600)"
        )
    if "busy" in talk.instructions:
        refuse(1, f"Error: thread/resume failed: thread {thread_id} already has an active writer (code -32600)")
    return talk


def instructions(options: list[str]) -> str:
    """What `-c` or the profile says."""
    if "-p" in options:
        profile = Path(os.environ["CODEX_HOME"]) / f"{options[options.index('-p') + 1]}.config.toml"
        setting = profile.read_text()
    else:
        setting = options[options.index("-c") + 1]
    return str(tomllib.loads(setting)["developer_instructions"])


main(sys.argv[1:])
