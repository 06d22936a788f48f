"""Every form in which a secret may stand in what we write."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from push.redaction import MARK, Redaction

TOKEN = "8012345678:AAF-x_Q9wErTyUiOpAsDfGhJkLzXcVbNm12"
SECRET = 'p"w/ä\\ö &+1'


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        repr(SECRET)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
    ],
)
def test_each_written_form_is_replaced(written: str) -> None:
    assert Redaction([SECRET]).text(f"<{written}>") == f"<{MARK}>"


def test_the_token_is_replaced_in_the_address_of_the_bot_api() -> None:
    url = f"https://api.telegram.org/bot{TOKEN}/getUpdates?offset=1"
    assert Redaction([TOKEN]).text(url) == f"https://api.telegram.org/bot{MARK}/getUpdates?offset=1"


@pytest.mark.parametrize("url", [f"/bot{TOKEN}/getMe", f"/bot{quote(TOKEN, safe='')}/getMe"])
def test_c60_a_token_that_nobody_configured_is_replaced_too(url: str) -> None:
    assert Redaction([]).text(url) == f"/bot{MARK}/getMe"


def test_c60_every_line_of_the_botfather_text_counts() -> None:
    text = (
        f"Done! Congratulations on your new bot.\n\nUse this token to access the HTTP API:\n{TOKEN}\nKeep it secure.\n"
    )
    redaction = Redaction([text])
    for written in (text, text.strip(), repr(text), quote(text), json.dumps(text), TOKEN):
        assert TOKEN not in redaction.text(written)
        assert "8012345678" not in redaction.text(written)


def test_a_line_of_a_secret_and_the_secret_without_its_newline_count() -> None:
    redaction = Redaction(["-----BEGIN-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END-----\n", "hunter22\n"])
    assert redaction.text("bad base64: MIIEvQIBADANBgkqhkiG9w0BAQ, hunter22") == f"bad base64: {MARK}, {MARK}"


def test_the_longer_secret_wins_over_one_that_it_contains() -> None:
    assert Redaction(["abcd", "abcdefgh"]).text("abcdefgh") == MARK


@pytest.mark.parametrize("useless", ["", "x", "  \n", "123"])
def test_what_is_too_short_to_be_a_secret_shreds_no_text(useless: str) -> None:
    assert Redaction([useless]).text("x 1234 xyz\n  \n") == "x 1234 xyz\n  \n"


def test_nested_values_and_keys() -> None:
    value = {"sk-secret": [("sk-secret", 1), {"deep": b"a sk-secret"}], "n": None, "t": True, "f": 1.5}
    expected = {MARK: [[MARK, 1], {"deep": f"a {MARK}"}], "n": None, "t": True, "f": 1.5}
    assert Redaction(["sk-secret"]).value(value) == expected


def test_a_secret_that_is_no_text_of_unicode_is_no_obstacle() -> None:
    assert Redaction(["pass\udcff"]).text("pass\udcff pass%FF") == f"{MARK} {MARK}"


def test_its_repr_shows_nothing() -> None:
    assert "sk-secret" not in repr(Redaction(["sk-secret"]))
