"""Every test here gets a systemd of its own; where one cannot run, it is skipped and says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.channels.scene import Scene, scene
from tests.crash.site import AGENT, GATED_AGENT
from tests.service.systemd import UserManager, user_manager
from tests.telegram.remote import FakeTelegram, separate


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[UserManager]:
    """A user manager whose home is the test's, with what the tests' agents need in the service's environment file."""
    with user_manager() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.runtime))
        yield made


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    """A Telegram of this test's own."""
    with separate() as fake:
        yield fake


@pytest.fixture
def place(manager: UserManager, home: Path, telegram: FakeTelegram) -> Iterator[Scene]:
    """A home with the agent that writes a diary and answers at once."""
    with scene(home, telegram, agent=AGENT.replace("sleep 0.1\n", "")) as made:
        _give_environment(made)
        yield made
        manager.done("stop", "push*.service")  # while its home and its Telegram are still there


@pytest.fixture
def gated(manager: UserManager, home: Path, telegram: FakeTelegram) -> Iterator[Scene]:
    """A home whose agent writes a diary, and answers when the test opens the gate."""
    with scene(home, telegram, agent=GATED_AGENT) as made:
        _give_environment(made)
        yield made
        manager.done("stop", "push*.service")  # while its home and its Telegram are still there


def _give_environment(made: Scene) -> None:
    """As an owner would: ~/.config/push/env."""
    file = Path("~/.config/push/env").expanduser()
    file.parent.mkdir(parents=True)
    file.write_text(f"DIARY={made.diary}\nGATE={made.gate}\n")
