"""Messages and agents that are not as they should be: one clear answer, and the next message is answered."""

from __future__ import annotations

import pytest

from tests.crash.site import Site
from tests.crash.verdict import check

_MIB = 1024 * 1024

#: Answers with the number of bytes that it was given.
COUNTING = "#!/bin/sh\nwc -c\n"


def _piped(place: Site, message: bytes, code: int = 0) -> str:
    terminal = place.start("chat", "--user", "ann", stdin=message + b"\n")
    assert terminal.wait(60) == code, terminal.err
    return terminal.out


def test_a_message_of_a_million_bytes(place: Site) -> None:
    place.agent.write_text(COUNTING)
    place.serve()
    assert _piped(place, b"x" * 1_000_000) == "1000000\n"
    check(place)


def test_the_longest_message_is_taken_and_a_longer_one_refused(place: Site) -> None:
    place.agent.write_text(COUNTING)
    place.serve()
    assert _piped(place, b"x" * (4 * _MIB)) == f"{4 * _MIB}\n"
    refused = place.start("chat", "--user", "ann", stdin=b"one\n" + b"x" * (4 * _MIB + 1) + b"\n")
    assert refused.wait() == 2
    assert refused.out == "3\n", "what came before is answered"
    assert "4,194,305 bytes" in refused.err
    assert len(place.turns()) == 2
    check(place)


@pytest.mark.parametrize(
    ("message", "given"),
    [
        (b"a\x00b", b"a\x00b"),
        (b"\x1b[2J\x07bell\x7f\xc2\x9b31m", b"\x1b[2J\x07bell\x7f\xc2\x9b31m"),
        (b"\xff\xfe half \xf0\x9f", "�� half �".encode()),
        ("\u2028one line\u2029 \U0001f3a9".encode(), "\u2028one line\u2029 \U0001f3a9".encode()),
    ],
    ids=("nul", "controls", "no-utf8", "separators"),
)
def test_odd_characters_reach_the_agent_and_none_steers_the_terminal(place: Site, message: bytes, given: bytes) -> None:
    place.agent.write_text('#!/bin/sh\ntee "$DIARY"\n')
    place.serve()
    printed = _piped(place, message)
    assert place.diary.read_bytes() == given
    assert not [char for char in printed if char != "\n" and (ord(char) < 32 or 127 <= ord(char) < 160)]
    check(place)


def test_an_agent_that_is_not_there(place: Site) -> None:
    place.agent.unlink()
    place.serve()
    assert "was not found" in _piped(place, b"one", 1)
    check(place)


def test_an_agent_that_cannot_be_executed(place: Site) -> None:
    place.agent.chmod(0o600)
    place.serve()
    assert "cannot be executed" in _piped(place, b"one", 1)
    place.agent.chmod(0o700)
    assert _piped(place, b"two") == "re: two\n"
    check(place)


@pytest.mark.parametrize("nothing", ["", "\\n", " \\t\\r\\n", "\\342\\200\\213"], ids=range(4))
def test_c26_an_agent_that_says_nothing(place: Site, nothing: str) -> None:
    """Exit code 0 with nothing, a newline, or a character without width."""
    place.agent.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '{nothing}'\n")
    place.serve()
    assert "without saying anything" in _piped(place, b"one", 1)
    check(place)


def test_c46_an_agent_that_prints_rubbish(place: Site) -> None:
    place.agent.write_text("#!/bin/sh\ncat >/dev/null\nhead -c 100000 /dev/urandom\nhead -c 10000000 /dev/zero >&2\n")
    place.serve()
    terminal = place.start("chat", "--user", "ann", stdin=b"one\n")
    assert terminal.wait() == 0
    assert len(terminal.out) > 10_000
    check(place)


def test_an_agent_that_prints_a_hundred_megabytes(place: Site) -> None:
    place.agent.write_text("#!/bin/sh\ncat >/dev/null\nhead -c 100000000 /dev/zero\n")
    place.serve()
    assert "printed far more than an answer" in _piped(place, b"one", 1)
    check(place)


def test_an_agent_cli_that_prints_rubbish(place: Site) -> None:
    place.agent.write_text('#!/bin/sh\ncat >/dev/null\necho "{not json"\n')
    place.configure(kind="claude")
    place.serve()
    assert "was not understood" in _piped(place, b"one", 1)
    check(place)


def test_a_missing_soul_is_said_and_the_next_message_is_answered(place: Site) -> None:
    soul = place.assistant / "SOUL.md"
    text = soul.read_text()
    soul.unlink()
    place.serve()
    assert "cannot run the agent as it is set up" in _piped(place, b"one", 1)
    soul.write_text(text)
    assert _piped(place, b"two") == "re: two\n"
    check(place)


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"cursors": 1}', b"\xff\xfe\0"], ids=range(4))
def test_a_corrupt_state_is_said_and_kept(place: Site, damage: bytes) -> None:
    state = place.root / "state.json"
    state.write_bytes(damage)
    state.chmod(0o600)
    place.serve()
    assert "state.json is damaged" in _piped(place, b"one", 1)
    assert state.read_bytes() == damage, "never silently reset"
    state.unlink()
    assert _piped(place, b"two") == "re: two\n"
    check(place)


#: What an agent may do to the folder of its own run.
TRICKS = {
    "output-is-a-fifo": 'rm "$PUSH_RUN/out"; mkfifo "$PUSH_RUN/out"',
    "output-is-a-folder": 'rm "$PUSH_RUN/out"; mkdir "$PUSH_RUN/out"',
    "result-is-a-folder": 'mkdir -p "$PUSH_RUN/result.json/x"',
    "result-is-a-fifo": 'mkfifo "$PUSH_RUN/result.json"; kill -9 $PPID',
    "record-is-a-fifo": 'rm "$PUSH_RUN/agent"; mkfifo "$PUSH_RUN/agent"; kill -9 $PPID',
    "cancel-is-a-folder": 'mkdir "$PUSH_RUN/cancel"; kill -9 $PPID',
    "folder-is-a-file": 'rm -rf "$PUSH_RUN"; touch "$PUSH_RUN"',
}


@pytest.mark.parametrize("trick", TRICKS)
def test_an_agent_that_spoils_its_own_spool_holds_up_nothing(place: Site, trick: str) -> None:
    place.agent.write_text(f'#!/bin/sh\nmessage=$(cat)\necho fine\n[ "$message" = next ] || {{ {TRICKS[trick]}; }}\n')
    gateway = place.serve()
    place.commit(("ann", "one"), ("ann", "next"))
    place.until_states("failed", "answered")
    assert gateway.stop() == 0
    check(place)
