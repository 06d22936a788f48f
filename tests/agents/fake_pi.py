"""Imitates `pi --print --mode json`."""

from __future__ import annotations

import sys
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
    "401": "401 Incorrect API key provided.",
    "429": "429 slow down",
    "500": "500 it broke",
    "overflow": "400 Your input exceeds the context window of this model.",
    "strange-overflow": "400 (no body)",  # only pi itself knows what that means
    "refuse": "Provider finish_reason: content_filter",
}


def main(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        print("0.73.1", file=sys.stderr)
        return
    if arguments[:3] != ["--print", "--mode", "json"] or arguments[-2] != "--append-system-prompt":
        refuse(1, f"Error: Unknown option: {arguments[-1]}")
    asked = arguments[4] if arguments[3] == "--session" else None
    talk = Conversation(asked or str(uuid.uuid4()))
    if asked and not talk.exists:
        refuse(1, f"No session found matching '{asked}'")
    prompt = prompt_on_stdin().strip()
    if asked and "elsewhere" in talk.instructions:
        sys.stderr.write(
            "Session found in different project: /elsewhere\nFork this session into current directory? [y/N] "
        )
        return
    talk.instructions = Path(arguments[-1]).read_text()
    emit({"type": "session", "version": 3, "id": talk.id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"})
    emit({"type": "agent_start"})
    emit({"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": prompt}]}})
    verb, argument = directive(prompt)
    if verb.startswith("work-then-"):
        message([{"type": "toolCall", "name": "bash"}], "toolUse")
        talk.save()
        verb = verb.removeprefix("work-then-")
    before_answering(verb, argument)
    if verb == "fail-then-answer":
        message([{"type": "text", "text": "half an answ"}], "error", error="terminated")
        emit({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 1, "errorMessage": "terminated"})
    error = _ERRORS.get(argument if verb == "fail" else verb)
    if error:
        talk.save()
        message([], "error", error=error)
        emit({"type": "agent_end", "messages": []})
        if "overflow" in verb:
            emit({"type": "compaction_start", "reason": "overflow"})
        return  # exit code 0
    reply = talk.answer(prompt)
    deltas(reply)
    message([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": reply}], "stop", verb=verb)
    emit({"type": "agent_end", "messages": []})
    after_answering(verb)


def deltas(reply: str) -> None:
    """The reply as it grows, all of it each time."""
    step = max(1, len(reply) // 50)
    for end in range(step, len(reply), step):
        part = {"role": "assistant", "content": [{"type": "text", "text": reply[:end]}]}
        emit(
            {
                "type": "message_update",
                "assistantMessageEvent": {"type": "text_delta", "partial": part},
                "message": part,
            }
        )


def message(content: list[dict[str, object]], stop: str, *, error: str = "", verb: str = "") -> None:
    """The end of a message of the assistant."""
    usage = {"input": 10, "output": 4, "cacheRead": 90, "cacheWrite": 0, "cost": {"total": 0.25}}
    body = {"role": "assistant", "content": content, "usage": usage, "stopReason": stop}
    emit({"type": "message_end", "message": body | ({"errorMessage": error} if error else {})}, verb)


main(sys.argv[1:])
