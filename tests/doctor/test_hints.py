"""Whatever is broken, doctor names it, and the command that it prints, executed literally, makes that go away."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from push.ledger import conversations, held
from push.ledger.database import Database
from tests.doctor.patient import AGENT, Patient
from tests.ledger import lives

_CLI = """#!{python} -I
import json, os, sys
mark = os.path.join(os.path.dirname(sys.argv[0]), "logged-in")
if "--version" in sys.argv:
    print("{version} (Claude Code)")
elif "/login" in sys.argv:
    open(mark, "w").close()
elif not os.path.exists(mark):
    print("Not logged in · Please run /login", file=sys.stderr)
    sys.exit(1)
else:
    session = sys.argv[sys.argv.index("--session-id") + 1]
    print(json.dumps({{"type": "result", "is_error": False, "result": "ready", "session_id": session}}))
"""
#: Installs what is asked for beside itself: a claude of the version that everybody has today.
_NPM = '#!/bin/sh\n[ "$1 $2" = "install -g" ] && cp "$(dirname "$0")/new-claude" "$(dirname "$0")/claude"\n'
_HOURS_AGO = "UPDATE {table} SET {column} = {column} - 7200000"


def claude(patient: Patient, version: str = "2.1.332", name: str = "claude") -> None:
    patient.program(name, _CLI.format(python=sys.executable, version=version))


def npm(patient: Patient) -> None:
    patient.program("npm", _NPM)
    claude(patient, name="new-claude")
    patient.configure('agent = "claude"')


def no_claude(patient: Patient) -> None:
    npm(patient)


def old_claude(patient: Patient) -> None:
    npm(patient)
    claude(patient, version="1.0.3")


def broken_claude(patient: Patient) -> None:
    npm(patient)
    patient.program("claude", "#!/bin/sh\necho 'Segmentation fault' >&2\nexit 139\n")


def claude_without_node(patient: Patient) -> None:
    """A shim of npm's where the shell's PATH has no node; the double of apt-get installs one."""
    patient.configure('agent = "claude"')
    patient.program("claude", "#!/usr/bin/env node\n")
    patient.env["PATH"] = str(patient.bin)
    for name in ("sh", "dirname", "cp", "ln"):
        (patient.bin / name).symlink_to(f"/bin/{name}")
    patient.program("node", "#!/bin/sh\necho 2.1.332\n").rename(patient.bin / "new-node")
    patient.program("sudo", '#!/bin/sh\nexec "$@"\n')
    patient.program("apt-get", '#!/bin/sh\ncd "${0%/*}" && cp new-node node\n')


def blocked_agent(patient: Patient) -> None:
    patient.program("agent", AGENT).chmod(0o644)


def open_home(patient: Patient) -> None:
    patient.home.chmod(0o755)


def torn_state(patient: Patient) -> None:
    Database.open(patient.home / "push.db").close()
    (patient.home / "state.json").write_text('{"sessions": ')
    (patient.home / "state.json").chmod(0o600)


def unknown_zone(patient: Patient) -> None:
    patient.env["TZ"] = "Mars/Olympus"


def few_files(patient: Patient) -> None:
    patient.prefix = "ulimit -S -n 200"


def no_home_folder(patient: Patient) -> None:
    patient.env["HOME"] = "/nonexistent"


def message_of_hours_ago(patient: Patient) -> None:
    with closing(Database.open(patient.home / "push.db")) as db:
        lives.accept(db)
        with db.write():
            db.execute(_HOURS_AGO.format(table="turn", column="queued_at"))


def answer_of_hours_ago(patient: Patient) -> None:
    with closing(Database.open(patient.home / "push.db")) as db:
        lives.answer(db, lives.start(db, lives.accept(db)), "late")
        with db.write():
            db.execute(_HOURS_AGO.format(table="outbound", column="created_at"))


def paused_conversation(patient: Patient) -> None:
    with closing(Database.open(patient.home / "push.db")) as db:
        lives.accept(db)
        assert conversations.pause(db, "local:ann")


def restored_copy(patient: Patient) -> None:
    with closing(Database.open(patient.home / "push.db")) as db:
        lives.accept(db)
        held.hold_everything(db)


def no_claude_but_codex(patient: Patient) -> None:
    patient.configure('agent = "claude"')
    patient.program("codex", "#!/bin/sh\necho codex-cli 0.171.0\n")


def no_soul(patient: Patient) -> None:
    (patient.home / "assistant" / "SOUL.md").unlink()


def file_of_another(patient: Patient) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    patient.program("sudo", '#!/bin/sh\nexec "$@"\n')
    Database.open(patient.home / "push.db").close()
    os.chown(patient.home / "push.db", 65534, -1)


@pytest.mark.parametrize(
    ("code", "spoil", "hint"),
    [
        ("not_private", open_home, "push doctor --fix"),
        ("file_of_another", file_of_another, "sudo chown "),
        ("state_corrupt", torn_state, "push doctor --fix"),
        ("zone_unknown", unknown_zone, "unset TZ"),
        ("few_descriptors", few_files, "ulimit -n "),
        ("home_wrong", no_home_folder, "export HOME="),
        ("agent_missing", no_claude, "npm install -g @anthropic-ai/claude-code"),
        ("agent_old", old_claude, "npm install -g @anthropic-ai/claude-code@latest"),
        ("agent_version", broken_claude, "npm install -g @anthropic-ai/claude-code"),
        ("agent_version", claude_without_node, "sudo apt-get install -y nodejs"),
        ("agent_not_executable", blocked_agent, "chmod +x "),
        ("agent_missing", no_claude_but_codex, "push init --agent codex"),
        ("soul_unusable", no_soul, "push init"),
        ("held", restored_copy, "push retries now --held"),
        ("nothing_answers", message_of_hours_ago, "push consumer --drain"),
        ("delivery_waits", answer_of_hours_ago, "push chat --user ann"),
        ("paused", paused_conversation, "push conversations resume local:ann"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_the_printed_command_makes_it_go_away(
    patient: Patient, code: str, spoil: Callable[[Patient], None], hint: str
) -> None:
    assert patient.examine().of(code) == []
    spoil(patient)
    found = patient.examine().one(code)
    assert found["hint"].startswith(hint)
    assert found["message"]
    assert patient.examine(after=found["hint"]).of(code) == []


def test_an_agent_that_is_not_logged_in_is_asked_only_when_that_is_wished(patient: Patient) -> None:
    patient.configure('agent = "claude"')
    claude(patient)
    assert patient.examine().code == 0
    found = patient.examine("--agents").one("agent_not_logged_in")
    assert found["hint"] == "claude /login"
    cured = patient.examine("--agents", after=found["hint"])
    assert cured.of("agent_not_logged_in") == []
    assert "claude answers" in [item["message"] for item in cured.items]


def test_a_hint_names_the_configuration_that_was_asked_about(patient: Patient, tmp_path: Path) -> None:
    other = tmp_path / "other file.toml"
    other.write_text((patient.home / "config.toml").read_text().replace('"assistant"', f'"{patient.home}/assistant"'))
    other.chmod(0o600)
    patient.home.chmod(0o755)
    found = patient.examine(f"--config '{other}'").one("not_private")
    assert found["hint"] == f"push --config '{other}' doctor --fix"
    assert patient.examine(f"--config '{other}'", after=found["hint"]).of("not_private") == []
