"""Which kind of failure the error text of a CLI names.

Owns the mapping from words and HTTP statuses to the codes of `AgentFailed`; does not own where such a text stands in
a CLI's output. The texts are the CLIs' and the providers', never a model's.
"""

from __future__ import annotations

import re
from typing import Final

#: An HTTP status where the CLIs put it: at the start, after "status", or after "API Error".
_STATUS: Final = re.compile(r"(?:\A|status:? |API Error: )([45]\d\d)\b")

_BY_STATUS: Final = {401: "not_logged_in", 403: "not_logged_in", 413: "prompt_too_long", 429: "rate_limited"}

_SERVER_ERROR: Final = 500

#: In order: a refusal is reported as a broken stream, a missing login as an invalid request.
_WORDS: Final = {
    "refused": r"content_filter|safeguards flagged|usage polic|finish_reason: (?:refusal|safety)",
    "prompt_too_long": r"context window|context[ _]length|prompt is too long|too large for model|token limit"
    r"|stdin input exceeds|Input exceeds the maximum length",
    "rate_limited": r"rate.?limit|too many requests|usage limit|hit your .{0,40}limit|quota",
    "not_logged_in": r"not logged in|/login|invalid api key|no api key|no models available|unauthorized|authenticat"
    r"|missing environment variable|token (?:has |is )?(?:expired|invalid)",
    "unavailable": r"overloaded|high demand|connection|network|stream disconnected|ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN"
    r"|fetch failed|timed out|internal server error|service unavailable|\Aterminated\Z",
}
_BY_WORDS: Final = {code: re.compile(pattern, re.IGNORECASE) for code, pattern in _WORDS.items()}


def cause(text: str, status: int | None = None) -> str:
    """The code of `AgentFailed` for an error text, and for the HTTP status where the CLI names it apart."""
    if status is None and (found := _STATUS.search(text)):
        status = int(found[1])
    if status is not None and status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and status >= _SERVER_ERROR:
        return "unavailable"
    return next((code for code, pattern in _BY_WORDS.items() if pattern.search(text)), "agent_error")
