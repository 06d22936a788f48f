"""Every command that takes `--json` prints what its schema says, and nothing else; so does every error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from docs import schemas
from push.cli.main import cli, main
from push.model.machines import OUTBOUND, TURN
from push.paths import Home
from push.tasks import roles
from tests.docs.pages import ROOT
from tests.docs.seeded import configure, erase, hold, seed

PAGE = ROOT / "docs" / "reference" / "output.md"


def closed(schema: Any) -> Any:
    """The schema without the freedom to have further keys."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(part) for key, part in schema.items()}
    return inner | ({"additionalProperties": False} if "properties" in schema else {})


def schema_of(command: str) -> jsonschema.Draft202012Validator:
    """The schema of a command, as the file in the documents has it."""
    text = (schemas.FOLDER / f"{command.replace(' ', '-')}.json").read_text()
    return jsonschema.Draft202012Validator(closed(json.loads(text)))


def taking_json(group: click.Group, context: click.Context, words: tuple[str, ...] = ()) -> Iterator[str]:
    """The commands that take `--json` and do something, by their words."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        here = (*words, name)
        takes = any("--json" in parameter.opts for parameter in command.params)
        if takes and (not isinstance(command, click.Group) or command.invoke_without_command):
            yield " ".join(here)
        if isinstance(command, click.Group):
            yield from taking_json(command, click.Context(command, info_name=name, parent=context), here)


EVERY = sorted(taking_json(cli, click.Context(cli, info_name="push")))


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with everything in it, to be copied."""
    root = tmp_path_factory.mktemp("rich") / "home"
    seed(root)
    return root


@pytest.fixture
def place(rich: Path, home: Path) -> Path:
    """A copy of the rich home, which is ours."""
    shutil.copytree(rich, home, dirs_exist_ok=True)
    configure(home)
    return home


class Teller:
    """Runs commands in this process, and holds what they print against the schemas."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, command: str, *words: str, code: int = 0) -> Any:
        """What `push COMMAND WORDS --json` prints: an object on standard output, or an error, as its schema says."""
        self._capsys.readouterr()
        assert main([*command.split(), *words, "--json"]) == code, self._capsys.readouterr()
        out, err = self._capsys.readouterr()
        for text, schema in ((out, command), (err, "error")):
            if text:
                problems = schema_of(schema).iter_errors(json.loads(text))
                assert [f"{problem.json_path}: {problem.message[:300]}" for problem in problems] == [], command
        return json.loads(out or err)


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Teller:
    return Teller(capsys)


# -- none is forgotten -------------------------------------------------------------------------------------------------


def test_every_command_has_a_schema() -> None:
    assert sorted(schemas.COMMANDS) == EVERY


def test_every_command_is_run_by_a_test_here() -> None:
    text = Path(__file__).read_text() + Path(__file__).with_name("test_json_service.py").read_text()
    run = {*re.findall(r'tell\(\s*"([a-z ]+)"', text), *(command for command, _ in PLAIN)}
    assert sorted(run) == EVERY


def test_the_files_are_current() -> None:
    found = {path: path.read_text() for path in schemas.FOLDER.glob("*.json")}
    assert found == schemas.files(), "make docs"


@pytest.mark.parametrize("command", sorted(schemas.COMMANDS))
def test_every_key_is_described(command: str) -> None:
    """On the page that says what `--json` prints, in a code span."""
    spans = " ".join(re.findall(r"`([^`]+)`", PAGE.read_text() + (PAGE.parent / "verify.md").read_text()))
    assert f"`push {command}`" in PAGE.read_text() or command.rsplit(maxsplit=1)[-1] in spans.split(), "the command"
    assert sorted(set(keys(schemas.COMMANDS[command])) - set(re.findall(r"\w+", spans))) == []


def keys(schema: Any) -> Iterator[str]:
    """The names of all keys in a schema, however deep."""
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from keys(part)
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        yield from schema["properties"]


# -- what they print ---------------------------------------------------------------------------------------------------

#: Command -> words of calls on the rich home that end with 0.
PLAIN = [
    ("status", [[]]),
    ("turns list", [[], ["--limit", "1"], ["--state", "failed"]]),
    ("conversations list", [[]]),
    ("allow", [[]]),
    ("allow list", [[]]),
    ("allow add", [["9"], ["8"], ["--chat", "-100555"]]),
    ("allow remove", [["8"], ["--chat", "-100999"]]),
    ("retries list", [[]]),
    ("retries now", [["d8"], ["t16", "d12"]]),
    ("retries drop", [["d12", "--yes"], ["x1", "--yes"]]),
    ("usage", [[]]),
    ("audit tail", [[]]),
    ("verify", [[]]),
    ("config path", [[]]),
    ("config show", [[]]),
    ("config validate", [[]]),
    ("config schema", [[]]),
    ("conversations pause", [["local:ann"], ["local:ann"]]),
    ("conversations resume", [["local:gus"], ["local:gus"]]),
]


@pytest.mark.parametrize(("command", "calls"), PLAIN)
def test_what_a_command_prints(place: Path, tell: Teller, command: str, calls: list[list[str]]) -> None:
    for words in calls:
        tell(command, *words)


@pytest.mark.parametrize(
    "command", ["status", "turns list", "conversations list", "allow list", "retries list", "verify"]
)
def test_what_it_prints_of_an_empty_home(home: Path, tell: Teller, command: str) -> None:
    assert tell(command).get("items", []) == []


def test_turns_in_every_state(place: Path, tell: Teller) -> None:
    turns = [tell("turns show", str(item["id"]))["turn"] for item in tell("turns list", "--limit", "100")["items"]]
    assert {turn["state"] for turn in turns} == set(TURN.states)
    for turn in turns:
        if turn["state"] == "queued":
            tell("turns cancel", str(turn["id"]))


def test_deliveries_in_every_state(place: Path, tell: Teller) -> None:
    turns = [item["id"] for item in tell("turns list", "--limit", "100")["items"]]
    replies = [tell("turns show", str(number))["turn"]["reply"] for number in turns]
    states = {reply["state"] for reply in replies if reply}
    for reply in replies:
        if reply:
            tell("retries show", f"d{reply['id']}")
    assert states == set(OUTBOUND.states)


def test_everything_that_waits_or_failed(place: Path, tell: Teller) -> None:
    items = tell("retries list")["items"]
    assert {item["kind"] for item in items} == {"turn", "delivery", "rejected"}
    for item in items:
        tell("retries show", item["id"])


def test_what_a_restored_copy_holds(place: Path, tell: Teller) -> None:
    hold(place)
    assert tell("status")["turns"]["held"] > 0
    items = [item for item in tell("retries list")["items"] if item["reason"] == "restored"]
    for item in items:
        tell("retries show", item["id"])
    assert tell("retries now", "--held")["released"]["turns"] > 0


def test_what_is_left_of_erased_texts(place: Path, tell: Teller) -> None:
    erase(place)
    assert tell("status")["kept"]["history"]["erased"] > 0
    turns = [tell("turns show", str(item["id"]))["turn"] for item in tell("turns list")["items"]]
    erased = [turn for turn in turns if turn["erased_at"]]
    assert erased
    assert all(turn["text"] is None for turn in erased)
    assert any(item["text"] is None for item in tell("conversations show", "local:ann")["items"])
    assert tell("verify")["ok"] is True


def test_what_was_said_in_every_conversation(place: Path, tell: Teller) -> None:
    for item in tell("conversations list")["items"]:
        tell("conversations show", item["conversation"])


def test_status_of_a_gateway_at_work(place: Path, tell: Teller) -> None:
    role = roles.take(Home.at(place).run, "poll", "push run")
    role.beat("telegram", "reading as @bot")
    role.beat("telegram.good", "last good poll")
    try:
        found = tell("status")
    finally:
        role.close()
    assert found["processes"][0]["loops"]
    assert found["channels"]


def test_status_and_verify_of_what_is_damaged(place: Path, tell: Teller) -> None:
    (place / "state.json").write_text("{")
    assert tell("status")["state"]["ok"] is False
    assert tell("verify", code=1)["items"]
    (place / "push.db").write_bytes(b"no ledger")
    assert tell("status", code=5)["ledger"]["ok"] is False


def test_doctor(place: Path, tell: Teller) -> None:
    (place / "config.toml").chmod(0o644)
    found = tell("doctor", code=1)
    assert {"ok", "failed"} <= {item["status"] for item in found["items"]}
    assert "fixed" in {item["status"] for item in tell("doctor", "--fix", code=1)["items"]}


def test_backups(place: Path, tell: Teller, tmp_path: Path) -> None:
    file = str(tmp_path / "b.tar")
    tell("backup create", file)
    assert tell("backup verify", file)["ok"] is True
    tell("backup restore", file, "--to", str(tmp_path / "copy"))
    (tmp_path / "b.tar").write_bytes(b"none")
    assert tell("backup verify", file, code=1)["backup"] is None


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words", "code"),
    [
        ("turns show", ["999"], 1),
        ("turns show", ["x"], 2),
        ("conversations show", ["local:nobody"], 1),
        ("retries show", ["d999"], 1),
        ("retries drop", ["d1", "--yes"], 6),
        ("status", ["--colour"], 2),
    ],
)
def test_what_an_error_prints(place: Path, tell: Teller, command: str, words: list[str], code: int) -> None:
    assert tell(command, *words, code=code)["error"]["code"]


def test_an_error_with_several_findings(place: Path, tell: Teller) -> None:
    (place / "config.toml").write_text('colour = 1\nflavour = 2\nchannels = ["local"]\n')
    assert len(tell("config validate", code=3)["error"]["details"]) == 1
