"""What a killed sender leaves: proof where it wrote some, doubt where it did not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push.agents import tree
from push.delivery.journal import Journal
from push.delivery.sending import Ended, Sender, Waits
from push.ledger import outbox
from push.ledger.database import Database
from push.locks import FileLock
from push.model.values import Delivered, NotSent, Refused, SendOutcome, Unknown
from tests.ledger import lives
from tests.unit.delivery.scripted import ONCE, Service

DOUBT = Unknown("sender_died")


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[FileLock]:
    taken = FileLock.take(tmp_path / "target.lock")
    assert taken is not None
    with taken:
        yield taken


class _Kill(BaseException):
    """As a kill: nothing of ours runs after it."""


def _killed_at(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def seam(passed: str) -> None:
        if passed == name:
            raise _Kill

    monkeypatch.setattr("push.delivery.sending.seam", seam)


def test_what_the_file_proves(lock: FileLock) -> None:
    journal = Journal(lock)
    assert journal.proof(1, 0) == DOUBT
    journal.claimed(1)
    assert journal.proof(1, 0) == NotSent("sender_died", 0.0)
    assert journal.proof(2, 0) == DOUBT  # another row's
    journal.handed(1, 0)
    assert journal.proof(1, 0) == DOUBT
    journal.received(1, 0, "7/99")
    assert journal.proof(1, 0) == Delivered("7/99")
    assert journal.proof(1, 1) == NotSent("sender_died", 0.0)  # the next part was not handed over


def test_after_another_boot_only_a_receipt_is_believed(lock: FileLock, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(lock)
    for boot in ("another", tree.NO_BOOT):
        journal.claimed(1)
        monkeypatch.setattr(tree.ProcFs, "boot", lambda _self, boot=boot: boot)
        if boot == tree.NO_BOOT:
            journal.claimed(1)
        assert journal.proof(1, 0) == DOUBT
        journal.received(1, 0, "7/99")
        assert journal.proof(1, 0) == Delivered("7/99")
        monkeypatch.undo()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"row": 1}', b"\xff", b'{"row": 1, "part": "0"}'])
def test_a_damaged_file_proves_nothing(lock: FileLock, content: bytes) -> None:
    Path(lock.path).write_bytes(content)
    assert Journal(lock).proof(1, 0) == DOUBT


def test_without_a_lock_nothing_is_proven() -> None:
    journal = Journal(None)
    journal.claimed(1)
    assert journal.proof(1, 0) == DOUBT


@pytest.mark.parametrize(
    ("seam", "outcome", "sent_again", "repeat"),
    [
        ("delivery.part_sent", Delivered("7/1"), True, True),  # it left, and nobody wrote that down
        ("delivery.part_received", Delivered("7/1"), False, False),
        ("delivery.part_received", Refused("bot_blocked"), True, False),
        ("delivery.part_received", NotSent("connection_refused"), True, False),
        ("delivery.part_received", Unknown("timeout"), True, True),
    ],
)
def test_what_a_killed_sender_knew_is_taken_up(
    db: Database,
    lock: FileLock,
    monkeypatch: pytest.MonkeyPatch,
    seam: str,
    outcome: SendOutcome,
    sent_again: bool,  # noqa: FBT001
    repeat: bool,  # noqa: FBT001
) -> None:
    row = lives.answered(db)
    _killed_at(monkeypatch, seam)
    first = Service(db, outcome)
    with pytest.raises(_Kill):
        Sender(db, ONCE, first, lock=lock).send(row)
    monkeypatch.undo()
    assert outbox.get(db, row.id).state == "sending"
    second = Service(db)
    ended: Ended | Waits = Sender(db, ONCE, second, lock=lock).send(outbox.get(db, row.id))
    if isinstance(ended, Waits):
        ended = Sender(db, ONCE, second, lock=lock).send(outbox.get(db, row.id))
    assert ended == Ended(delivered=True)
    assert (len(second.sent) == 1) == sent_again
    assert outbox.get(db, row.id).repeat == repeat
    assert any("repeat" in note for note in second.notes) == repeat


def test_killed_before_a_part_leaves_nothing_is_in_doubt(
    db: Database, lock: FileLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = lives.answered(db)

    def killed(name: str) -> None:
        raise _Kill(name)

    monkeypatch.setattr("push.ledger.outbox.seam", killed)  # just after the row became `sending`
    with pytest.raises(_Kill):
        Sender(db, ONCE, Service(db), lock=lock).send(row)
    monkeypatch.undo()
    assert outbox.get(db, row.id).state == "sending"
    service = Service(db)
    assert isinstance(Sender(db, ONCE, service, lock=lock).send(outbox.get(db, row.id)), Waits)
    assert Sender(db, ONCE, service, lock=lock).send(outbox.get(db, row.id)) == Ended(delivered=True)
    assert service.notes == [""]
    assert outbox.get(db, row.id).attempt == 1
