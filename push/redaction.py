"""Replacing secrets by `[redacted]`: one way for the audit, the logs and Sentry.

Owns which written forms of a secret are recognised; does not own which values are secret (`push.config`).

Recognised: the value, percent-encoded (in a URL), escaped as in JSON or in a Python literal, each longer line of a
value of several lines, and anything that has the form of a Telegram bot token. Not recognised: a secret cut in two,
hashed, or in base64 (nothing of ours sends basic authentication).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

MARK = "[redacted]"

_SHORTEST = 4  # characters: a shorter value is no credential of any service, and would shred every text
_SHORTEST_LINE = 16
_BOT_TOKEN_FORM = r"[0-9]{6,12}(?::|%3[Aa])[A-Za-z0-9_-]{30,}"  # noqa: S105  a form, not a token
_ESCAPE = re.compile("%[0-9A-F]{2}")


class Redaction:
    """Knows the secrets' values; its own repr does not show them."""

    __slots__ = ("_pattern",)

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _SHORTEST}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join([*map(re.escape, longest_first), _BOT_TOKEN_FORM]))

    def text(self, text: str) -> str:
        """The text with every secret in it replaced."""
        return self._pattern.sub(MARK, text)

    def value(self, value: object) -> object:
        """The value as JSON would hold it, with every secret in its texts and keys replaced."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item) for item in value]
        if isinstance(value, bytes | bytearray):
            return self.text(bytes(value).decode(errors="replace"))
        return self.text(str(value))


def _forms(secret: str) -> Iterator[str]:
    lines = (line.strip() for line in secret.splitlines())
    for text in (secret, secret.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE)):
        yield text
        yield repr(text)[1:-1]
        for ascii_only in (True, False):
            yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        for safe in ("", "/", "/:"):
            escaped = quote(text, safe=safe, errors="surrogateescape")
            yield escaped
            yield _ESCAPE.sub(lambda match: match[0].lower(), escaped)
