"""A home that was restored, with real processes on it. Does not own how it came to be (`push backup restore`)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.channels.scene import Scene
from tests.crash.site import Process
from tests.telegram.remote import FakeTelegram


class Copy(Scene):
    """As a scene, but the home is there already. Its token comes from the environment: no backup has it."""

    def __init__(self, root: Path, telegram: FakeTelegram) -> None:
        self.telegram = telegram
        self.root = root
        self.diary, self.gate, self.db = root / "diary", root / "gate", root / "push.db"
        self.agent, self.assistant, self.config = root / "agent.sh", root / "assistant", root / "config.toml"
        self.outside = Path(tempfile.mkdtemp(prefix="outside"))
        self._processes: list[Process] = []
        self._count = 0

    def serve(self, *words: str, seams: str = "", env: dict[str, str] | None = None) -> Process:
        """Start a gateway with the bot's token."""
        return super().serve(*words, seams=seams, env={"TELEGRAM_BOT_TOKEN": self.telegram.token, **(env or {})})

    def done(self, *words: str) -> Process:
        """Run `push WORDS`, which must succeed."""
        process = self.start(*words, env={"TELEGRAM_BOT_TOKEN": self.telegram.token})
        assert process.wait(60) == 0, process.out + process.err
        return process


@contextmanager
def copy(root: Path, telegram: FakeTelegram) -> Iterator[Copy]:
    """A copy that leaves no process behind, and no folder."""
    made = Copy(root, telegram)
    try:
        yield made
    finally:
        made.end_all()
        shutil.rmtree(made.outside)
        shutil.rmtree(root, ignore_errors=True)
