"""The help of every noun has examples, and each of them is a command line that is understood."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from push.cli.examples import EXAMPLES
from push.cli.main import COMMANDS, cli, main


def understood(words: list[str]) -> None:
    """Parse a whole command line, without doing what it says."""
    command: click.Command = cli
    context = click.Context(cli, info_name="push")
    while isinstance(command, click.Group) and words:
        name, words = words[0], words[1:]
        found = command.get_command(context, name)
        assert found is not None, name
        command, context = found, click.Context(found, info_name=name, parent=context)
    command.make_context(context.info_name, words, parent=context.parent)


@pytest.mark.parametrize("noun", EXAMPLES)
def test_an_example_is_understood(noun: str) -> None:
    for words, purpose in EXAMPLES[noun]:
        assert words.split()[0] == noun
        assert purpose
        understood(shlex.split(words))


def test_a_line_that_is_no_command_would_be_noticed() -> None:
    for line in ("retries lst", "status --wach", "conversations pause", "usage --days x"):
        with pytest.raises((click.UsageError, AssertionError)):
            understood(shlex.split(line))


@pytest.mark.parametrize("noun", COMMANDS)
def test_the_help_of_every_noun_has_them(noun: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([noun, "--help"])
    out = capsys.readouterr().out
    assert re.search(r"^  (Examples|To install it)", out, re.MULTILINE), out
    assert f"    push {noun}" in out or noun == "completion"
    assert all(len(line) <= 100 for line in out.splitlines())
    assert not re.findall(r"^  \w.*\.\.\.$", out, re.MULTILINE)  # what a command is for is not cut off


def test_the_help_of_push_begins_with_what_one_needs_first(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()]
    assert len(lines) > 5
    for line in lines:
        understood(shlex.split(re.split(r"\s{2,}", line)[0])[1:])
