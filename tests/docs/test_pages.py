"""Every command that README, tutorial and how-to pages show is run as a reader would, and prints what they show."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from tests.docs.pages import EXAMPLES, PAGES, ROOT, fences, steps
from tests.docs.player import Player
from tests.docs.sandbox import sandbox

#: The pages that begin on a machine without Push.
FROM_NOTHING = {"README.md", "tutorial.md"}


#: The page and the reason of every fence that is not run.
NOT_RUN = [("work-on-push.md", "the tests, inside the tests")]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.skipif(sys.platform != "linux", reason="the pages show systemd, and its stand-in needs /proc")
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_page_does_what_it_shows(page: Path) -> None:
    with sandbox(Path(tempfile.mkdtemp(prefix="p", dir="/tmp"))) as machine:
        if page.name not in FROM_NOTHING:
            machine.install()
        player = Player(machine)
        for step in steps(page.read_text()):
            player.play(step)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_is_not_run_says_why(page: Path) -> None:
    """A fence is played, an example that other tests check, or gives its reason in the comment above it."""
    unexplained = [
        f"line {fence.line}: ```{fence.language}"
        for fence in fences(page)
        if not fence.is_played and fence.language not in EXAMPLES and not fence.one("skip")
    ]
    assert not unexplained


def test_few_fences_are_not_run() -> None:
    """What cannot be run here, and why; a new one is added knowingly."""
    skipped = [(page.name, reason) for page in PAGES for fence in fences(page) if (reason := fence.one("skip"))]
    assert skipped == NOT_RUN
