"""What the documents name is there: links, paths, commands, and the four headings of an ADR."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
ADRS = sorted((ROOT / "docs" / "adr").glob("*.md"))

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IN_REPOSITORY = re.compile(r"^(?:push|tests|docs|benchmarks|deploy|\.ci)/\S*$|^[\w.-]+\.(?:toml|txt)$|^Makefile$")
ELSEWHERE = {"config.toml"}  # a file of PUSH_HOME
COMMAND = re.compile(r"^(?:\$ )?push( .*)?$")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(text: str) -> str:
    return FENCE.sub("", text)


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def commands(text: str) -> Iterator[str]:
    """The command lines of Push in code spans, and in fenced blocks line by line."""
    spans = CODE.findall(prose(text))
    lines = [line.strip() for _, block in FENCE.findall(text) for line in block.splitlines()]
    for candidate in (*spans, *lines):
        match = COMMAND.match(candidate)
        if match:
            yield (match[1] or "").partition("  #")[0].partition(" | ")[0].strip()


def test_there_are_documents() -> None:
    assert len(DOCUMENTS) > 20
    assert len(ADRS) >= 10


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_resolve(document: Path) -> None:
    for link in LINK.findall(prose(document.read_text())):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = (document.parent / target).resolve() if target else document
        assert file.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", prose(file.read_text()), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, link


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    pages = {*(ROOT / "docs").rglob("*.md"), ROOT / "CHANGELOG.md"} - {index}
    assert [named(page) for page in sorted(pages - linked)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_paths_exist(document: Path) -> None:
    for span in CODE.findall(prose(document.read_text())):
        if IN_REPOSITORY.match(span) and span not in ELSEWHERE:
            assert (ROOT / span).exists(), span


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_commands_exist(document: Path) -> None:
    from push.cli.main import cli

    for line in commands(document.read_text()):
        check_command(cli, line)


def check_command(root: click.Command, line: str) -> None:
    """Follow the words of a command line down the tree; then every long option must be one of the command's."""
    command, context = root, click.Context(root)
    words = shlex.split(line.replace("[", " ").replace("]", " ").replace("…", " "))
    seen = [command]
    for word in words:
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        alternatives = [command.get_command(context, name) for name in word.split("|")]
        assert None not in alternatives, f"push {line}: no {word!r}"
        command = alternatives[0] or command
        seen.append(command)
    parameters = [parameter for c in seen for parameter in c.get_params(context)]
    options = {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        if word.startswith("--"):
            assert word.partition("=")[0] in options, f"push {line}: no {word}"


@pytest.mark.parametrize("document", ADRS, ids=named)
def test_a_decision_has_its_four_headings(document: Path) -> None:
    text = document.read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequence", "How it is tested"]
    assert text.startswith(f"# {document.name[:4]} ")
    assert len(text.splitlines()) <= 60  # one page


def test_the_code_names_documents_that_exist() -> None:
    """In comments, and in what Push says to its user."""
    for source in [*(ROOT / "push").rglob("*.py"), ROOT / "Makefile", ROOT / "pyproject.toml"]:
        for name in re.findall(r"\bdocs/[\w/.-]+\.md", source.read_text()):
            assert (ROOT / name).exists(), f"{named(source)}: {name}"


def test_every_cited_decision_exists() -> None:
    """`ADR 0003` in a comment or document."""
    numbers = {document.name[:4] for document in ADRS}
    sources = [*DOCUMENTS, *(ROOT / "push").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    for source in sources:
        for citation in re.findall(r"\bADRs? ((?:\d{4}(?:, | and )?)+)", source.read_text()):
            assert set(re.findall(r"\d{4}", citation)) <= numbers, named(source)
