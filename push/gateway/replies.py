"""The fixed sentences that a person gets when there is no answer. Detail stays in the ledger and the audit.

What an agent CLI prints about a failure holds addresses and hints of keys, so none of it is ever sent.
"""

from __future__ import annotations

_SENTENCES = {
    "timed_out": "The agent took longer than allowed and was stopped. Ask for less at once, or raise run_timeout.",
    "output_limit": "The agent printed far more than an answer and was stopped.",
    "not_found": "The agent's program was not found. On the machine, run: push doctor",
    "not_executable": "The agent's program cannot be executed. On the machine, run: push doctor",
    "not_started": "The agent could not be started. On the machine, run: push doctor",
    "not_logged_in": "The agent is not logged in. Log in with its own command on the machine, then send this again.",
    "rate_limited": "The agent's service says that its limit is reached. Send this again later.",
    "unavailable": "The agent's service cannot be reached or is overloaded. Send this again later.",
    "refused": "The model declined to answer this.",
    "empty_reply": "The agent ended without saying anything. Send this again, perhaps in other words.",
    "bad_output": "The agent's output was not understood. On the machine, run: push doctor",
    "prompt_too_long": "This message is too long for the agent.",
    "interrupted": "The run for this message was interrupted twice, so it was given up. Some of it may have been done.",
    "session_missing": "The agent does not find its session, nor a new one. Send this again.",
    "busy": "The agent's session stayed busy. Send this again later.",
    "configuration": "Push cannot run the agent as it is set up. On the machine, run: push doctor",
    "state_corrupt": "Push's state.json is damaged. On the machine, run: push doctor --fix   Then send this again.",
    "no_agent": "No agent is set up for this conversation. On the machine, run: push config validate",
}
_OTHER = "The agent failed. On the machine, `push turns show {turn}` says more."

CODES = frozenset(_SENTENCES)


def failure(code: str, turn_id: int) -> str:
    """What the person is told when turn `turn_id` failed with `code`."""
    return "⚠️ " + _SENTENCES.get(code, _OTHER).format(turn=turn_id)
