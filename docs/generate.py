"""The generated pages of the reference: the command line, as the live commands tell it, and the schemas of `--json`.

Owns `docs/reference/command-line.md`; does not own the schemas (`docs.schemas`), nor the page on the configuration,
which comes from `push config schema --markdown`.
`make docs` writes all.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from docs import schemas
from push.cli.main import cli

PAGE = Path(__file__).parent / "reference" / "command-line.md"
HEAD = """# Command line

This page is generated: `make docs`.

Every command takes `--config FILE` and `-h` (help). `--config` and `--json` may also stand before the noun. What
`--json` prints, and the exit codes, are in [JSON output, errors and exit codes](output.md).
"""
WITH_ALL_COMMANDS = {"--config", "--help"}


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"\n{section}" for section in _sections(cli, click.Context(cli, info_name="push")))


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    """One section for each command that does something, in the order of the help."""
    if not isinstance(command, click.Group):
        yield _section(command, context)
        return
    if command.invoke_without_command:
        yield _section(command, context)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if below is not None and not below.hidden:
            yield from _sections(below, click.Context(below, info_name=name, parent=context))


def _section(command: click.Command, context: click.Context) -> str:
    words = [context.command_path, *command.collect_usage_pieces(context)]
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    lines = [f"## {context.command_path}", "", "```", " ".join(words), "```", "", text, ""]
    options = [record for record in _options(command, context) if record is not None]
    if options:
        lines += ["| option | meaning |", "|---|---|", *(_row(*option) for option in options), ""]
    return "\n".join(lines)


def _row(name: str, text: str) -> str:
    name, text = (cell.replace("|", "\\|") for cell in (name, text.replace("<", "&lt;")))
    return f"| `{name}` | {text} |"


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str] | None]:
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and WITH_ALL_COMMANDS.isdisjoint(parameter.opts):
            yield parameter.get_help_record(context)


if __name__ == "__main__":
    PAGE.write_text(page())
    schemas.FOLDER.mkdir(exist_ok=True)
    for file, text in schemas.files().items():
        file.write_text(text)
