"""Every schema from macOS 13 to 27, and real rows: each is read, and is what it is."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from push.providers.imessage import rows, typedstream
from push.providers.imessage.chatdb import ChatDb, Snapshot
from push.providers.imessage.rows import Kind, Mark, Row, kind_of, marks_of, plain
from push.providers.imessage.typedstream import Body
from tests.imessage import databases
from tests.imessage.databases import FRIEND, change, insert, make

RELEASES = ("13", "14", "15", "26", "27")
SHARED = pytest.mark.shared

#: Class of a row in the scenario -> what it is, but for `message`, and what else is so of it, but for nothing.
KINDS = {
    **dict.fromkeys(("tapback_add", "tapback_remove", "tapback_emoji", "sticker_tapback"), Kind.TAPBACK),
    **dict.fromkeys(("sticker_placed", "poll_vote"), Kind.ATTACHED),
    **dict.fromkeys(("group_member_added", "group_renamed", "group_member_left", "location_share"), Kind.SYSTEM),
    "link_preview_row": Kind.LINK_PREVIEW,
    "edited": Kind.EDITED,
    "unsent_fully": Kind.UNSENT,
    "scheduled_future": Kind.SCHEDULED,
}
OWN = {Mark.OWN}
MARKS = {
    **dict.fromkeys(("owner_to_friend", "self_chat_only_from_me", "self_chat_twin_sent"), OWN),
    **dict.fromkeys(("self_chat_other_identity", "self_chat_same_text_again_later", "scheduled_future"), OWN),
    **dict.fromkeys(("out_pending", "out_sent_not_delivered", "out_delivered", "out_read", "out_failed_22"), OWN),
    "out_downgraded_sms": {Mark.OWN, Mark.OTHER_SERVICE},
    "tahoe_ghost_row": {Mark.OWN, Mark.OTHER_SERVICE, Mark.NO_CHAT},
    "row_without_chat_join_yet": {Mark.NO_CHAT},
    "sms_from_allowed_number": {Mark.OTHER_SERVICE},
    "sms_short_code": {Mark.OTHER_SERVICE},
    "spam_flagged": {Mark.SPAM},
}


def schema(shared: Path, release: str) -> str:
    return (shared / "channels/imessage" / f"schema-macos{release}.sql").read_text()


def rows_of(path: Path) -> list[Row]:
    with closing(ChatDb(path)) as db:
        found = db.read(0, 1000)
    assert isinstance(found, Snapshot), found
    return list(found.rows)


def words(row: Row) -> str | None:
    found = rows.words_of(row, typedstream.read)
    return plain(found.text) if isinstance(found, Body) else None


@SHARED
@pytest.mark.parametrize("release", RELEASES)
def test_every_schema_is_read(release: str, shared: Path, tmp_path: Path) -> None:
    path = make(tmp_path / "chat.db", schema(shared, release), rows=2)
    row, _ = rows_of(path)
    assert (row.guid, row.text, row.sender, row.sent_ns) == ("G1", "text 1", FRIEND, databases.DATE + 1)
    assert row.chat is not None
    assert (kind_of(row), marks_of(row)) == (Kind.MESSAGE, frozenset())
    change(path, "UPDATE message SET date_edited = 700000000000000001, is_spam = 1", "UPDATE chat SET is_filtered = 1")
    row, _ = rows_of(path)
    assert kind_of(row) is Kind.EDITED
    assert marks_of(row) == {Mark.SPAM, Mark.FILTERED}
    assert row.edited_ns == 700_000_000_000_000_001


@SHARED
@pytest.mark.parametrize("release", RELEASES)
def test_a_row_of_which_nothing_is_known(release: str, shared: Path, tmp_path: Path) -> None:
    path = make(tmp_path / "chat.db", schema(shared, release))
    with closing(sqlite3.connect(path)) as connection, connection:
        insert(connection, "message", {"guid": "G"})
        names = [
            name for _, name, _, is_required, *_ in connection.execute("PRAGMA table_info(message)") if not is_required
        ]
        connection.execute(f"UPDATE message SET {', '.join(f'{name} = NULL' for name in names if name != 'ROWID')}")
    (row,) = rows_of(path)
    assert marks_of(row) == {Mark.NO_CHAT, Mark.OTHER_SERVICE}
    assert words(row) is None


def test_a_row_with_nothing_but_nulls(tmp_path: Path) -> None:
    path = make(tmp_path / "chat.db")
    change(path, "INSERT INTO message DEFAULT VALUES", "INSERT INTO chat DEFAULT VALUES")
    change(path, "INSERT INTO chat_message_join VALUES (2, 1), (NULL, 1), (NULL, NULL)")
    (row,) = rows_of(path)
    assert (row.guid, row.text, row.sender, row.sent_ns, row.chats) == (None, None, None, None, ())
    assert marks_of(row) == {Mark.NO_CHAT, Mark.OTHER_SERVICE}


def test_a_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = make(tmp_path / "chat.db", rows=1)
    change(path, "UPDATE message SET text = CAST(X'68e46c66' AS TEXT), guid = CAST(X'ff' AS TEXT)")
    (row,) = rows_of(path)
    assert (row.text, row.guid) == (b"h\xe4lf", None)
    assert words(row) is None


def scenario(shared: Path, path: Path) -> tuple[Path, dict[str, Any]]:
    folder = shared / "channels/imessage"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(schema(shared, "26") + (folder / "scenario-a.sql").read_text())
    return path, json.loads((folder / "scenario-a.expected.json").read_text())


@SHARED
def test_the_scenario(shared: Path, tmp_path: Path) -> None:
    path, expected = scenario(shared, tmp_path / "chat.db")
    found = {row.rowid: row for row in rows_of(path)}
    assert sorted(found) == [said["rowid"] for said in expected["rows"]]
    for said in expected["rows"]:
        row, cls = found[said["rowid"]], said["cls"]
        assert row.guid == said["guid"]
        assert (row.chat.guid if row.chat else None) == said["chat_guid"], cls
        assert kind_of(row) is KINDS.get(cls, Kind.MESSAGE), cls
        assert marks_of(row) == MARKS.get(cls, set()), cls
        assert row.chat is None or row.chat.is_group == ("chat613" in row.chat.guid)
        if kind_of(row) not in {Kind.ATTACHED, Kind.SYSTEM} and cls not in {"row_empty_then_filled", "sticker_tapback"}:
            assert (words(row) or "") == (said["text"] or ""), cls


@SHARED
def test_the_scenario_later(shared: Path, tmp_path: Path) -> None:
    path, expected = scenario(shared, tmp_path / "chat.db")
    before = {row.rowid: row for row in rows_of(path)}
    change(path, *(step["sql"] for step in expected["later"]))
    after = {row.rowid: row for row in rows_of(path)}
    assert marks_of(before[1031]) == {Mark.NO_CHAT}
    assert marks_of(after[1031]) == set()
    assert (words(before[1032]), words(after[1032])) == (None, "filled afterwards")
    assert (before[1038].is_delivered, after[1038].is_delivered) == (False, True)
    assert (kind_of(after[1002]), words(after[1002])) == (Kind.EDITED, "plain one, edited")


@SHARED
def test_rows_that_were_real(shared: Path, tmp_path: Path) -> None:
    path = make(tmp_path / "chat.db", schema(shared, "14"))
    real = json.loads((shared / "channels/imessage/real_rows.json").read_text())
    with closing(sqlite3.connect(path)) as connection, connection:
        known = {name for _, name, *_ in connection.execute("PRAGMA table_info(message)")}
        for entry in real.values():
            insert(connection, "message", {k: _value(v) for k, v in entry["message"].items() if k in known})
    found = {row.rowid: row for row in rows_of(path)}
    kinds = {name: kind_of(found[entry["message"]["ROWID"]]) for name, entry in real.items()}
    assert kinds["fixture1"] is Kind.MESSAGE
    assert {kind for name, kind in kinds.items() if "unsend" in name} == {Kind.PARTLY_UNSENT}
    assert words(found[real["fixture1"]["message"]["ROWID"]]) == "1\n2"
    assert words(found[real["partial_trailing_unsends"]["message"]["ROWID"]]) == "a"


def _value(value: object) -> object:
    if isinstance(value, str) and value.startswith("data:;base64,"):
        return base64.b64decode(value.partition(",")[2])
    return value
