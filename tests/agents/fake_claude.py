"""Imitates `claude -p --output-format json`."""

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

#: Verb, or "fail N" -> the text, and what else the event then says.
_ERRORS: dict[str, tuple[str, dict[str, object]]] = {
    "fail 401": ("Invalid API key · Fix external API key", {"api_error_status": 401}),
    "fail 429": ("API Error: Request rejected (429) · slow down", {"api_error_status": 429}),
    "fail 500": ("API Error: 500 it broke", {"api_error_status": 500}),
    "overflow": ("Prompt is too long", {"terminal_reason": "prompt_too_long", "usage": {"output_tokens": 0}}),
    "work-then-overflow": ("Prompt is too long", {"terminal_reason": "prompt_too_long"}),
    "interrupted": ("", {"subtype": "error_during_execution"}),  # SIGINT: and its exit code is 0
    "refuse": ("API Error: our safeguards flagged this message", {"stop_reason": "refusal"}),
}


def main(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        print("2.1.332 (Claude Code)")
        return
    if arguments[:3] != ["-p", "--output-format", "json"] or len(arguments) != 7:
        refuse(1, f"error: unknown option '{arguments[-1]}'")
    how, session_id, option, file = arguments[3:]
    if option != "--append-system-prompt-file" or not Path(file).is_file():
        refuse(1, f"Error: Append system prompt file not found: {file}")
    talk = Conversation(session_id)
    if how == "--resume" and not talk.exists:
        refuse(1, f"No conversation found with session ID: {session_id}")
    if how == "--session-id" and talk.exists:
        refuse(1, f"Error: Session ID {session_id} is already in use.")
    talk.instructions = talk.instructions or Path(file).read_text()
    talk.save()
    prompt = prompt_on_stdin()
    if prompt.startswith("/clear"):
        emit(result(str(uuid.uuid4()), "", num_turns=0))
        return
    verb, argument = directive(prompt.strip())
    before_answering(verb, argument)
    text, more = _ERRORS.get(f"{verb} {argument}".strip(), ("", {}))
    if more:
        emit(result(session_id, text, is_error=True, **more))
        sys.exit(0 if verb == "interrupted" else 1)
    event = result(session_id, talk.answer(prompt.strip()), total_cost_usd=0.05 * len(talk.said))
    emit([{"type": "system", "subtype": "init"}, event] if verb == "array" else event, verb)
    after_answering(verb)


def result(session_id: str, text: str, **more: object) -> dict[str, object]:
    """The `result` event."""
    return {
        "stop_reason": "end_turn",
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 4},
        "is_error": False,
        "num_turns": 1,
        "subtype": "success",
        "result": text,
        "type": "result",
        **more,
    }


main(sys.argv[1:])
