"""A home with everything in it that a command can list: turns and deliveries in every state, and what surrounds them.

Owns what is there; does not own what is asserted.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from push import clock
from push.audit import Audit
from push.ledger import allowlist, conversations, held, retention
from push.ledger.database import Database
from push.ledger.moves import move
from push.model.machines import TURN
from push.model.values import Session
from push.paths import Home
from push.state import StateFile
from tests.ledger import lives, network

CONFIG = """\
channels = ["local", "telegram"]
agent = "command"
command = ["cat"]
assistant_root = "{home}/assistant"

[telegram]
bot_token = "123456789:AAF-token_of_the_fake"
base_url = "http://127.0.0.1:9"
allow_user_ids = [7]
allow_chat_ids = [-100123]
"""

SESSION = Session(
    "s1",
    started=True,
    backend="claude",
    epoch=0,
    work_dir="/assistant",
    instructions_sha256="ab",
    used_on="2026-11-30",
)


def configure(root: Path) -> None:
    """Write the configuration for the place where the home stands."""
    (root / "config.toml").write_text(CONFIG.format(home=root))
    (root / "config.toml").chmod(0o600)


def seed(root: Path) -> None:
    """Fill a home."""
    root.mkdir(mode=0o700, exist_ok=True)
    configure(root)
    (root / "assistant").mkdir()
    (root / "assistant" / "SOUL.md").write_text("You are a test.\n")
    home = Home.at(root)
    home.make()
    audit = Audit(home.audit, content=False, secrets=())
    audit.record("turn_started", turn=1, thread="local:ann", agent="claude")
    audit.record("delivery_failed", delivery=8, reason="blocked", repeat=True)
    audit.close()
    with closing(Database.open(home.push_db)) as db:
        lives.rich(db)
        network.rich(db)
        _interrupted(db)
        allowlist.add(db, "telegram", "user", "8", "a neighbour")
        allowlist.add(db, "telegram", "chat", "-100999", None)
        allowlist.refuse(db, "telegram", {("66", "66"): 3, ("67", "-100777"): 1})
        conversations.pause(db, "local:gus")
    StateFile(home.state).save_session("local:ann", SESSION, expected_epoch=0)


def hold(root: Path) -> None:
    """Let the home be a copy that was restored: all that is open is held."""
    with closing(Database.open(Home.at(root).push_db)) as db:
        held.hold_everything(db)


def erase(root: Path) -> None:
    """Let the time of keeping texts be over for all that ended."""
    with closing(Database.open(Home.at(root).push_db)) as db:
        for _ in retention.erase(db, clock.now_ms() + 1):
            pass


def _interrupted(db: Database) -> None:
    """One that waits for its second run, as a crash at this moment leaves it."""
    turn = lives.start(db, lives.accept(db, lives.message("hal")))
    with db.write():
        edge = ("running", "interrupted", "recovery")
        move(db, TURN, turn.id, edge, reason="interrupted", interruptions=1)
