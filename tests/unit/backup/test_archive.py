"""A backup's file is never trusted: whatever is wrong with it is named, and nothing but its own files is unpacked."""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import tarfile
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from push.backup import archive, manifest, verification
from push.backup.archive import Unpacked
from push.backup.manifest import Manifest, Member
from push.errors import DependencyError, Failed, TemporaryError
from push.ledger import copying
from push.ledger.database import Database
from push.ledger.schema import VERSION
from tests.ledger import lives

Members = list[tuple[tarfile.TarInfo, bytes]]


def quiet(_what: str) -> None:
    pass


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a backup."""
    folder = tmp_path_factory.mktemp("content")
    with closing(Database.open(folder / "source.db")) as db:
        lives.rich(db)
        copying.copy(db, folder / "push.db")
    (folder / "config.toml").write_text('channels = ["local"]\n')
    (folder / "state.json").write_text("{}")
    return folder


def described(content: Path) -> Manifest:
    with closing(Database.open(content / "source.db")) as db:
        turns, deliveries = (int(db.rows(f"SELECT count(*) FROM {table}")[0][0]) for table in ("turn", "outbound"))
    files = {name: Member((content / name).stat().st_size, archive.digest(content / name)) for name in manifest.FILES}
    return Manifest("2026-01-01T00:00:00Z", "0", VERSION, turns, deliveries, "/h", "/a", "", False, {}, files)


@pytest.fixture(params=["backup.tar", "backup.tar.gz"])
def file(request: pytest.FixtureRequest, content: Path, tmp_path: Path) -> Path:
    """A whole backup, packed or not."""
    made = tmp_path / str(request.param)
    archive.write(made, described(content), content, quiet)
    return made


def unpacked(file: Path) -> Unpacked:
    folder = file.parent / f"into{random.random()}"
    folder.mkdir()
    found = archive.unpack(file, folder, quiet)
    assert {path.name for path in folder.iterdir()} <= set(manifest.FILES)
    assert all(path.is_file() and not path.is_symlink() for path in folder.iterdir())
    return found


def codes(file: Path) -> set[str]:
    return {damage.code for damage in verification.verify(file, quiet).damages}


def test_a_whole_one_is_sound(file: Path) -> None:
    verdict = verification.verify(file, quiet)
    assert verdict.damages == ()
    assert verdict.manifest is not None
    assert file.stat().st_mode & 0o777 == 0o600


def test_cut_short_anywhere_it_is_damaged(file: Path) -> None:
    whole = file.read_bytes()
    lengths = {0, 1, 511, 512, 513, 1024, len(whole) - 10_240, len(whole) - 1}
    lengths |= {random.Random(1).randrange(len(whole)) for _ in range(40)}
    for length in sorted(length for length in lengths if 0 <= length < len(whole)):
        cut = file.with_name(f"cut-{file.name}")
        cut.write_bytes(whole[:length])
        found = unpacked(cut)
        if file.suffix == ".tar" and length > len(whole) - 9_000:
            continue  # of the zeros at the end two blocks are enough
        assert found.damages, length


def test_a_flipped_bit_anywhere_is_found(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    chance = random.Random(2)
    places = [*range(0, 1500, 7), *(chance.randrange(len(whole)) for _ in range(150))]
    headers = range(4, 10) if file.suffix == ".gz" else ()  # gzip's own time and system say nothing
    for place in places:
        if place in headers:
            continue
        bit = 1 << chance.randrange(8)
        whole[place] ^= bit
        flipped = file.with_name(f"flipped-{file.name}")
        flipped.write_bytes(whole)
        whole[place] ^= bit
        assert unpacked(flipped).damages or says_the_same(flipped, file), (place, bit)


def says_the_same(one: Path, other: Path) -> bool:
    """Some bits of a packed file mean nothing: a length of a code that is not used."""
    with suppress(EOFError, zlib.error, gzip.BadGzipFile):
        return one.suffix == ".gz" and gzip.decompress(one.read_bytes()) == gzip.decompress(other.read_bytes())
    return False


def plain(name: str, data: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, data


def special(name: str, kind: bytes, link: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info, b""


def forged(target: Path, members: Members, form: int = tarfile.GNU_FORMAT) -> Path:
    with tarfile.open(target, "w", format=form) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return target


FORGERIES: dict[str, tuple[Callable[[Members], Members], str]] = {
    "nothing": (lambda _: [], "archive_foreign"),
    "another program's": (lambda _: [plain("etc/passwd")], "archive_foreign"),
    "a link as manifest": (lambda m: [special("manifest.json", tarfile.SYMTYPE, "/etc/passwd"), *m], "archive_foreign"),
    "a link": (lambda m: [*m[:3], special("push.db", tarfile.SYMTYPE, "/etc/passwd")], "archive_member"),
    "a hard link": (lambda m: [*m[:3], special("push.db", tarfile.LNKTYPE, "config.toml")], "archive_member"),
    "a folder": (lambda m: [*m[:3], special("push.db", tarfile.DIRTYPE)], "archive_member"),
    "a pipe": (lambda m: [*m[:3], special("push.db", tarfile.FIFOTYPE)], "archive_member"),
    "an absolute name": (lambda m: [m[0], plain("/tmp/evil"), *m[1:]], "archive_member"),
    "a name above": (lambda m: [m[0], plain("../evil"), *m[1:]], "archive_member"),
    "one too many": (lambda m: [*m, plain("evil")], "archive_member"),
    "one twice": (lambda m: [*m, m[3]], "archive_member"),
    "one too few": (lambda m: m[:3], "archive_incomplete"),
    "another order": (lambda m: [m[0], m[2], m[1], m[3]], "archive_member"),
    "other content": (lambda m: [*m[:2], plain("state.json", b"[]"), m[3]], "archive_hash"),
    "another size": (lambda m: [*m[:2], plain("state.json", b"{ }"), m[3]], "archive_size"),
    "a manifest that is none": (lambda m: [plain("manifest.json", b"{"), *m[1:]], "archive_manifest"),
    "a manifest of another shape": (lambda m: [plain("manifest.json", b'{"version": 1}'), *m[1:]], "archive_manifest"),
    "a list as manifest": (lambda m: [plain("manifest.json", b"[" * 9999), *m[1:]], "archive_manifest"),
}


def members(content: Path, described: Manifest) -> Members:
    files = [plain(name, (content / name).read_bytes()) for name in described.files]
    return [plain("manifest.json", described.encode()), *files]


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_named(content: Path, tmp_path: Path, name: str) -> None:
    forge, code = FORGERIES[name]
    file = forged(tmp_path / "forged.tar", forge(members(content, described(content))))
    assert code in codes(file)
    unpacked(file)


def test_names_of_a_forged_manifest_are_refused(content: Path, tmp_path: Path) -> None:
    evil = replace(described(content), files={"../evil": Member(1, "0" * 64)})
    file = forged(tmp_path / "forged.tar", [plain("manifest.json", evil.encode()), plain("../evil")])
    assert codes(file) == {"archive_manifest"}


@pytest.mark.parametrize("origin", ["ext::sh -c id", "--upload-pack=id", "https://a/b; id", "$(id)"])
def test_a_forged_address_is_put_into_no_command(content: Path, tmp_path: Path, origin: str) -> None:
    evil = replace(described(content), assistant_origin=origin)
    assert codes(forged(tmp_path / "forged.tar", members(content, evil))) == {"archive_manifest"}


def test_what_claims_to_be_huge_is_not_read(content: Path, tmp_path: Path) -> None:
    info = tarfile.TarInfo("manifest.json")
    info.size = 1 << 40
    file = tmp_path / "bomb.tar.gz"
    file.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    assert codes(file) == {"archive_size"}
    huge = replace(described(content), files={"push.db": Member(1 << 50, "0" * 64)})
    info = tarfile.TarInfo("push.db")
    info.size = 1 << 50
    blocks = forged(tmp_path / "head.tar", [plain("manifest.json", huge.encode())]).read_bytes()
    blocks = blocks[: 512 + len(huge.encode()) + -len(huge.encode()) % 512]
    file.write_bytes(gzip.compress(blocks + info.tobuf(tarfile.GNU_FORMAT)))
    with pytest.raises(TemporaryError, match="no room"):
        verification.verify(file, quiet)


def test_a_long_header_is_not_followed_into_memory(content: Path, tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    file = tmp_path / "bomb.tar.gz"
    file.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 22)))
    assert codes(file) == {"archive_foreign"}
    pax, data = plain("manifest.json", described(content).encode())
    pax.pax_headers = {"comment": "x" * 1000}
    assert codes(forged(tmp_path / "pax.tar", [(pax, data)], tarfile.PAX_FORMAT)) == {"archive_foreign"}


def test_zeros_without_end_are_not_read_to_their_end(file: Path) -> None:
    data = file.read_bytes()
    whole = gzip.decompress(data) if file.suffix == ".gz" else data
    bomb = file.with_name("bomb.tar.gz")
    with gzip.open(bomb, "wb") as stream:
        stream.write(whole)
        for _ in range(64):
            stream.write(bytes(1 << 20))
    assert codes(bomb) == {"archive_member"}


@pytest.mark.parametrize("change", [{"version": 99}, {"schema": VERSION + 1}], ids=["format", "schema"])
def test_what_a_newer_push_made_is_refused_as_such(content: Path, tmp_path: Path, change: dict[str, int]) -> None:
    newer = described(content)
    if "schema" in change:
        data = replace(newer, schema=change["schema"]).encode()
    else:
        fields = json.loads(newer.encode()) | change
        fields.pop("sha256")
        data = json.dumps(fields | {"sha256": manifest._digest(fields)}).encode()
    file = forged(tmp_path / "newer.tar", [plain("manifest.json", data), *members(content, newer)[1:]])
    with pytest.raises(DependencyError) as refusal:
        verification.verify(file, quiet)
    assert refusal.value.exit_code == 4


def test_a_ledger_that_is_damaged_inside_is_named(content: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "content"
    damaged.mkdir()
    for name in ("config.toml", "state.json", "source.db", "push.db"):
        (damaged / name).write_bytes((content / name).read_bytes())
    with closing(Database.open(damaged / "push.db")) as db, db.write():
        db.execute("DELETE FROM part WHERE outbound_id = 1")
        db.execute("DELETE FROM outbound WHERE id = 1")
    file = tmp_path / "damaged.tar"
    archive.write(file, described(damaged), damaged, quiet)
    assert {"reply_missing", "delivery_missing"} <= codes(file)
    (damaged / "push.db").write_bytes(b"no database at all, but for its name " * 400)
    again = tmp_path / "ruined.tar"
    archive.write(again, described(damaged), damaged, quiet)
    assert "file_damaged" in codes(again)


@pytest.mark.parametrize(
    "statements",
    [
        ["PRAGMA user_version = 1", "PRAGMA application_id = 1349874536"],
        ["CREATE TABLE theirs (id INTEGER)", "PRAGMA user_version = 3"],
        ["CREATE TABLE theirs (id INTEGER)"],
        ["PRAGMA user_version = 3"],
    ],
)
def test_a_database_that_is_none_of_ours_is_a_damage(content: Path, tmp_path: Path, statements: list[str]) -> None:
    other = tmp_path / "content"
    other.mkdir()
    for name in ("config.toml", "state.json", "source.db"):
        (other / name).write_bytes((content / name).read_bytes())
    with closing(sqlite3.connect(other / "push.db")) as raw:
        for statement in statements:
            raw.execute(statement)
        raw.commit()
    archive.write(tmp_path / "other.tar", described(other), other, quiet)
    assert codes(tmp_path / "other.tar") & {"file_damaged", "schema", "archive_counts"}


@pytest.mark.parametrize("name", ["absent", "folder"])
def test_what_is_no_file_is_said_to_be_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(Failed, match="cannot read"):
        verification.verify(tmp_path / name, quiet)
