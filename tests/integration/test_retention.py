"""A gateway that erases what is old beside its work, and ends in time in the middle of it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

from tests.crash.site import Site

_FOREVER = '[retention]\nhistory = "forever"\n'
_A_DAY = '[retention]\nhistory = "1d"\n'
_TEXTS = "SELECT count(*) FROM turn WHERE text IS NOT NULL"


def age(place: Site, copies: int = 0) -> None:
    """Let everything have happened a year ago; `copies` more messages that were answered, straight into the file."""
    year = 365 * 86_400_000
    with closing(sqlite3.connect(place.db, timeout=10)) as connection, connection:
        connection.execute("UPDATE turn SET finished_at = finished_at - ?", (year,))
        connection.execute("UPDATE outbound SET finished_at = finished_at - ?", (year,))
        connection.executemany(
            "INSERT INTO turn (conversation_id, channel, event_id, sender, target, kind, text, state, received_at, "
            "queued_at, finished_at) VALUES (1, 'local', ?, 'ann', 'ann', 'message', 'old', 'cancelled', 1, 1, 1)",
            ((f"old{number}",) for number in range(copies)),
        )


def test_one_of_several_consumers_erases_and_the_others_answer_meanwhile(place: Site) -> None:
    place.configure(_A_DAY)
    place.commit(("ann", "SECRETMARK one"), ("bob", "SECRETMARK two"))
    place.serve("poll")
    for _ in range(2):
        place.serve("consumer")
    place.until_settled(2)
    assert "SECRETMARK" in place.listen("ann").out
    assert "SECRETMARK" in place.listen("bob").out
    place.end_all()
    age(place)
    place.serve("poll")
    for _ in range(2):
        place.serve("consumer")
    place.until(lambda: place.query(_TEXTS) == [(0,)], "texts that are erased")
    place.commit(("ann", "three"))
    place.until_settled(3)
    place.until(lambda: "retention: another process leads" in place.run("status").out, "a consumer that does not lead")
    assert "retention: erased 2 messages, 2 answers" in place.run("status").out
    assert place.listen("ann").out == "re: three\n"
    assert place.run("verify").wait() == 0
    place.end_all()
    for path in place.root.glob("push.db*"):
        assert b"SECRETMARK" not in path.read_bytes(), path.name


def test_it_ends_in_time_in_the_middle_and_goes_on_at_the_next_start(place: Site) -> None:
    place.configure(_FOREVER)
    place.commit(("ann", "one"))
    gateway = place.serve()
    place.until_settled(1)
    place.listen("ann")
    assert gateway.stop() == 0
    age(place, copies=20_000)
    place.configure(_A_DAY)
    gateway = place.serve()
    place.until(lambda: place.query(_TEXTS)[0][0] < 19_000, "erasing that has begun")
    begun = time.monotonic()
    assert gateway.stop() == 0
    assert time.monotonic() - begun < 8
    left = place.query(_TEXTS)[0][0]
    assert 0 < left < 19_000
    place.serve()
    place.until(lambda: place.query(_TEXTS) == [(0,)], "the rest", seconds=60)
