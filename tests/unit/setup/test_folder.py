"""Which folder becomes the assistant's, which is refused, and that it becomes a repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from push import assistant, programs
from push.assistant import scaffold
from push.config.findings import InvalidConfig
from push.errors import ConflictError
from push.programs import Completed
from push.setup import folder
from push.setup.folder import Chosen

PARTS = {"SOUL.md", "AGENTS.md", "README.md", "context", "jobs"}


@pytest.fixture
def config(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration that is not there yet; the working folder is `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    return home / "config.toml"


def made(root: Path, config: Path) -> folder.Prepared:
    chosen = Chosen(root, "")
    folder.check(chosen, config)
    return folder.prepare(chosen, config)


def git(*words: str) -> str:
    return subprocess.run(("git", *words), capture_output=True, text=True, check=True).stdout.strip()


# -- which one -------------------------------------------------------------------------------------------------------


def test_without_a_word_it_is_here(config: Path, tmp_path: Path) -> None:
    assert folder.choose(config, None) == Chosen(tmp_path / "assistant", "")
    assert folder.choose(config, Path("mine")).root == tmp_path / "mine"


@pytest.mark.parametrize("files", [["SOUL.md"], [*scaffold.FILES]])
def test_what_push_chat_made_is_taken_and_completed(config: Path, home: Path, files: list[str]) -> None:
    root = home / "assistant"
    (root / "context").mkdir(parents=True)
    for name in files:
        (root / name).write_text("mine\n")
    chosen = folder.choose(config, None)
    assert chosen.root == root
    folder.check(chosen, config)
    folder.prepare(chosen, config)
    assert {path.name for path in root.iterdir()} == PARTS | {".git"}
    assert (root / "SOUL.md").read_text() == "mine\n"


def test_the_embedded_default_makes_the_complete_layout(config: Path, home: Path) -> None:
    assistant.scaffold_default(home / "assistant")
    assert scaffold.survey(home / "assistant").is_complete


def test_one_configuration_has_one_assistant(config: Path, tmp_path: Path) -> None:
    config.write_text(f'assistant_root = "{tmp_path}/mine"\n')
    assert folder.choose(config, None) == Chosen(tmp_path / "mine", "as the configuration says", is_configured=True)
    assert folder.choose(config, Path("mine")).is_configured
    with pytest.raises(ConflictError) as caught:
        folder.choose(config, Path("other"))
    assert caught.value.hint == f"push init {tmp_path}/mine"


def test_the_hint_names_a_configuration_elsewhere(config: Path, tmp_path: Path) -> None:
    config = tmp_path / "my config.toml"
    config.write_text('assistant_root = "a b"\n')
    with pytest.raises(ConflictError) as caught:
        folder.choose(config, Path("other"))
    assert caught.value.hint == f"push init '{tmp_path}/a b' --config '{config}'"


def test_an_old_configuration_names_it_in_its_own_way(config: Path, home: Path, tmp_path: Path) -> None:
    config.write_text(f'assistant_dir = "{tmp_path}/old"\njobs_dir = "{tmp_path}/old/jobs"\n')
    assert folder.choose(config, None).root == tmp_path / "old"
    config.write_text('channel = "telegram"\n')
    (home / "SOUL.md").write_text("old")
    assert folder.choose(config, None) == Chosen(home, "as the configuration says", is_configured=True)


def test_the_root_is_written_as_a_dot_beside_its_configuration(config: Path, home: Path, tmp_path: Path) -> None:
    assert folder.written(home, config) == "."
    assert folder.written(tmp_path, config) == str(tmp_path)


# -- what may become one ---------------------------------------------------------------------------------------------


def test_an_absent_and_an_empty_folder(config: Path, tmp_path: Path) -> None:
    for name in ("absent", "empty"):
        root = tmp_path / name
        if name == "empty":
            root.mkdir()
        assert made(root, config).made == list(scaffold.FILES)
        assert {path.name for path in root.iterdir()} == PARTS | {".git"}
        assert (root / "SOUL.md").stat().st_mode & 0o777 == 0o600
        assert Path(git("-C", str(root), "rev-parse", "--show-toplevel")) == root


def test_a_folder_with_the_configuration_and_a_repository_alone(tmp_path: Path, config: Path) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    git("init", "-q", str(root))
    (root / "config.toml").write_text("x = 1\n")
    with pytest.raises(ConflictError):
        folder.check(Chosen(root, ""), config)
    assert made(root, root / "config.toml").made == list(scaffold.FILES)
    assert (root / "config.toml").read_text() == "x = 1\n"


def test_a_complete_one_may_hold_more_and_is_not_touched(config: Path, tmp_path: Path) -> None:
    root = tmp_path / "mine"
    made(root, config)
    (root / "SOUL.md").write_text("mine\n")
    (root / "notes").mkdir()
    assert made(root, config) == folder.Prepared([], "")
    assert (root / "SOUL.md").read_text() == "mine\n"


def test_one_that_was_interrupted_is_completed(config: Path, tmp_path: Path) -> None:
    root = tmp_path / "mine"
    made(root, config)
    (root / "README.md").unlink()
    (root / "jobs").rmdir()
    assert made(root, config).made == ["README.md"]


def _unrelated(root: Path) -> None:
    root.mkdir()
    (root / "thesis.tex").write_text("")


def _partial(root: Path) -> None:
    root.mkdir()
    (root / "SOUL.md").write_text("mine")


def _hidden(root: Path) -> None:
    root.mkdir()
    (root / ".env").write_text("")


def _file(root: Path) -> None:
    root.write_text("")


def _linked(root: Path) -> None:
    scaffold.scaffold_default(root)
    (root / "SOUL.md").rename(root / "mine.md")
    (root / "SOUL.md").symlink_to("mine.md")


def _wrong_kind(root: Path) -> None:
    scaffold.scaffold_default(root)
    (root / "jobs").rmdir()
    (root / "jobs").write_text("")


def _with_notes(root: Path) -> None:
    (root / "context").mkdir(parents=True)
    (root / "context/diary.md").write_text("")


def _foreign_repository(root: Path) -> None:
    root.mkdir()
    git("init", "-q", str(root.parent / "other"))
    (root / ".git").write_text(f"gitdir: {root.parent}/other/.git\n")
    git("--git-dir", f"{root.parent}/other/.git", "config", "core.worktree", f"{root.parent}/other")


def _linked_repository(root: Path) -> None:
    root.mkdir()
    git("init", "-q", str(root.parent / "other"))
    (root / ".git").symlink_to(root.parent / "other/.git")


def _no_repository(root: Path) -> None:
    (root / ".git").mkdir(parents=True)


@pytest.mark.parametrize(
    "make",
    [
        _unrelated,
        _partial,
        _hidden,
        _file,
        _linked,
        _wrong_kind,
        _with_notes,
        _foreign_repository,
        _linked_repository,
        _no_repository,
    ],
)
def test_what_is_refused_stays_as_it_is_and_the_hint_works(
    config: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    root = tmp_path / "taken"
    make(root)
    before = sorted(root.rglob("*"))
    with pytest.raises(ConflictError) as caught:
        folder.check(Chosen(root, ""), config)
    assert sorted(root.rglob("*")) == before
    assert caught.value.hint.startswith("push init /")
    folder.check(Chosen(Path(caught.value.hint.split()[2]), ""), config)


def test_a_configured_one_that_answers_is_left_as_it_is(config: Path, tmp_path: Path) -> None:
    """Or a token could not be repaired where somebody made the folder by hand."""
    root = tmp_path / "mine"
    _partial(root)
    config.write_text(f'assistant_root = "{root}"\n')
    chosen = folder.choose(config, None)
    folder.check(chosen, config)
    assert folder.prepare(chosen, config).made == []
    assert {path.name for path in root.iterdir()} == {"SOUL.md", ".git"}


def test_a_folder_in_a_larger_repository_of_the_owners_gets_none_of_its_own(config: Path, tmp_path: Path) -> None:
    git("init", "-q", str(tmp_path))
    root = tmp_path / "mine"
    _partial(root)
    config.write_text(f'assistant_root = "{root}"\n')
    folder.prepare(folder.choose(config, None), config)
    assert {path.name for path in root.iterdir()} == {"SOUL.md"}


@pytest.mark.parametrize("named", ["'a/../b'", "5"])
def test_a_folder_that_cannot_be_named_is_not_replaced_silently(config: Path, named: str) -> None:
    config.write_text(f'channel = "local"\nassistant_root = {named}\n')
    with pytest.raises(InvalidConfig, match=r"config.toml:2: assistant_root"):
        folder.choose(config, None)


# -- the repository --------------------------------------------------------------------------------------------------


def test_a_repository_of_its_own_inside_another_one(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("init", "-q", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    root = tmp_path / "mine"
    assert made(root, config).unversioned == ""
    assert (root / ".git").is_dir()
    made(root, config)


def test_without_git_it_is_said(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert made(tmp_path / "mine", config).unversioned == "git is not installed"
    assert scaffold.survey(tmp_path / "mine").is_complete


def test_half_a_repository_is_not_left(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "mine"

    def full(argv: Sequence[str], **_: object) -> Completed:
        if "init" in argv:
            (root / ".git/hooks").mkdir(parents=True)
        return Completed(128, "", "fatal: No space left on device")

    monkeypatch.setattr(programs, "run", full)
    assert made(root, config).unversioned == "fatal: No space left on device"
    monkeypatch.undo()
    assert made(root, config).unversioned == ""
    assert git("-C", str(root), "rev-parse", "--show-toplevel") == str(root)
