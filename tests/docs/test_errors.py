"""Every error says what, why and the next command, and has its place in the documents."""

from __future__ import annotations

import ast
import errno
import re

import pytest

from push.cli import main
from push.errors import PAGE
from push.ledger import database
from tests.docs.errors import Raised, builds_itself, kinds, raised
from tests.docs.hints import is_command
from tests.docs.pages import ROOT
from tests.docs.test_documents import check_command

#: Places whose codes stand elsewhere: file -> the codes.
ELSEWHERE = {
    "push/cli/main.py": {errno.errorcode[number].lower() for number in main._WRITE_ERRORS},
    "push/cli/init.py": {"token_rejected"},
    "push/ledger/database.py": {code for _, _, code in database._TROUBLE.values()} | {"ledger_unavailable"},
    "push/setup/pairing.py": {"another_poller", "webhook_active"},
}


def places() -> list[Raised]:
    """Every place but the constructors of the tree itself."""
    return [place for place in raised() if not builds_itself(place.kind)]


def documented() -> dict[str, int]:
    """Code -> the exit code of the section of the page in which it stands."""
    found = {}
    exit_code = -1
    for line in (ROOT / PAGE).read_text().splitlines():
        if section := re.fullmatch(r"## Exit code (\d+): .*", line):
            exit_code = int(section[1])
        elif heading := re.fullmatch(r"### (\w+)", line):
            assert heading[1] not in found, heading[1]
            found[heading[1]] = exit_code
    return found


def test_every_error_has_three_lines() -> None:
    lacking = [
        f"{place.place} lacks {word}"
        for place in places()
        for word in ("message", "why", "hint")
        if place.said.get(word, "''") in {"''", '""', "None"}
    ]
    assert lacking == []


def test_the_walk_finds_what_there_is() -> None:
    assert {"ConfigMissing", "InvalidConfig", "StateCorrupt", "StaleRow"} <= set(kinds())
    assert len(places()) > 50


def test_every_next_line_is_a_command() -> None:
    """As far as the source tells; tests.conftest looks at those that are put together."""
    wrong = []
    for place in places():
        for text in hints(place):
            if not text.startswith("{}") and not is_command(text.replace("{}", "x")):
                wrong.append(f"{place.place}: {text}")
            elif text.startswith("push ") and "{}" not in text:
                check_command(main.cli, text.removeprefix("push "))
    assert wrong == []


def test_a_sentence_is_no_command() -> None:
    assert not is_command("make room, then run it again")
    assert not is_command("push chat 'half")
    assert not is_command("")
    assert is_command('export PUSH_HOME="$HOME/x"')
    assert is_command("PUSH_HOME=/x push status")


def hints(place: Raised) -> list[str]:
    """The texts that the hint of this place may be, with `{}` for what is filled in."""
    tree = ast.parse(place.said.get("hint", "''"), mode="eval").body
    branches = [tree.body, tree.orelse] if isinstance(tree, ast.IfExp) else [tree]
    texts = []
    for branch in branches:
        if isinstance(branch, ast.Constant):
            texts.append(str(branch.value))
        elif isinstance(branch, ast.JoinedStr):
            texts.append("".join(p.value if isinstance(p, ast.Constant) else "{}" for p in branch.values))  # type: ignore[misc]
    return texts


def test_a_code_that_is_made_up_elsewhere_is_known() -> None:
    assert {place.place.partition(":")[0] for place in places() if place.codes is None} <= set(ELSEWHERE)


def test_every_code_is_documented_with_its_exit_code() -> None:
    """And nothing else is."""
    wanted: dict[str, int] = {}
    for place in raised():
        file = place.place.partition(":")[0]
        for code in ELSEWHERE[file] if place.codes is None else place.codes:
            assert wanted.setdefault(code, place.kind.exit_code) == place.kind.exit_code, code
    for kind in kinds().values():
        wanted.setdefault(kind.code, kind.exit_code)
    assert documented() == wanted


@pytest.mark.parametrize("code", sorted(documented()))
def test_an_entry_says_what_it_means_and_what_to_do(code: str) -> None:
    text = (ROOT / PAGE).read_text().partition(f"### {code}\n")[2].partition("\n#")[0]
    assert len(text.split()) >= 8, "what it means"
    assert "`" in text, "what to do: a command"
