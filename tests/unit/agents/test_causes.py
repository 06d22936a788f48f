from __future__ import annotations

import pytest

from push.agents.causes import cause

TEXTS = {
    "not_logged_in": [
        "Not logged in · Please run /login",
        "Invalid API key · Fix external API key",
        "unexpected status 401 Unauthorized: x, url: http://h/v1",
        "401 Incorrect API key provided: bad.",
        "Missing environment variable: `FAKE_KEY`.",
        "No API key found for the selected model.",
        "Failed to authenticate. API Error: 403 no",
    ],
    "rate_limited": [
        "API Error: Request rejected (429) · rate limit",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "429 slow down",
        "You've hit your usage limit. Try again later.",
    ],
    "unavailable": [
        "API Error: 500 it broke",
        "We’re currently experiencing high demand, which may cause temporary errors.",
        "unexpected status 503 Service Unavailable: x, url: http://h/v1",
        "529 overloaded",
        "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
        "Connection error.",
        "stream disconnected before completion: Transport error",
        "terminated",
    ],
    "refused": [
        "stream disconnected before completion: Incomplete response returned, reason: content_filter",
        "Provider finish_reason: content_filter",
        "API Error: Opus's safeguards flagged this message",
    ],
    "prompt_too_long": [
        "Prompt is too long · the request is ~250000 tokens",
        "Codex ran out of room in the model's context window. Start a new thread.",
        "400 Your input exceeds the context window of this model.",
        "Error: piped stdin input exceeds 10MB.",
        "turn/start failed: Input exceeds the maximum length of 1048576 characters.",
        "413 request_too_large",
    ],
    "agent_error": [
        "",
        "400 fake error 400",
        "Reached maximum number of turns (1)",
        "port 5001 in use",
        "404 no such model",
    ],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in TEXTS.items() for text in texts])
def test_the_code_of_an_error_text(code: str, text: str) -> None:
    assert cause(text) == code


def test_a_status_that_is_named_apart_comes_first() -> None:
    assert cause("overloaded, try /login", 429) == "rate_limited"
    assert cause("whatever", 529) == "unavailable"
    assert cause("model not found", 404) == "agent_error"
