"""The command `push`: its nouns, and the exit code of whatever happens.

Owns the list of nouns and how errors end the process; each noun lives in a module of its own, imported when it is
used, so that `push --version` imports nothing but click.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from push import __version__, environ
from push.cli import examples, output
from push.cli.options import config_option, json_option
from push.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    PushError,
    TemporaryError,
    UsageError,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Noun -> (where its command is, what it does in a line).
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("push.cli.init:init", "Set up the assistant, its agent, Telegram and the service."),
    "run": ("push.cli.run:run", "Read the channels and answer, in one process."),
    "poll": ("push.cli.run:poll", "Read the channels; a consumer answers."),
    "consumer": ("push.cli.run:consumer", "Answer what has been read."),
    "chat": ("push.cli.chat:chat", "Talk to the assistant from the terminal."),
    "status": ("push.cli.status:status", "What runs, what waits, what failed."),
    "turns": ("push.cli.turns:turns", "Messages and how far each one got."),
    "conversations": ("push.cli.conversations:conversations", "Conversations and what was said."),
    "allow": ("push.cli.allow:allow", "Who may write to the assistant, and who was refused."),
    "retries": ("push.cli.retries:retries", "Everything that waits or failed, in one place."),
    "usage": ("push.cli.usage:usage", "What agents used: turns, tokens, cost."),
    "audit": ("push.cli.audit:audit", "What the gateway did, record by record."),
    "verify": ("push.cli.verify:verify", "Prove from the ledger that nothing was lost."),
    "doctor": ("push.cli.doctor:doctor", "Check the machine, the configuration and the state."),
    "service": ("push.cli.service:service", "Run as a service of yours: install, uninstall, status."),
    "reload": ("push.cli.reload:reload", "Let the configuration take effect in what runs."),
    "backup": ("push.cli.backup:backup", "Keep a copy of the state, and bring it up elsewhere."),
    "config": ("push.cli.config:config", "The settings: where, what, and whether right."),
    "completion": ("push.cli.completion:completion", "Let your shell complete commands and options."),
}

_EXAMPLES = """\b
Examples:
  push init                      set up the assistant, its agent and Telegram
  push run                       answer every channel of the configuration
  push service install           the same, at login and after a crash
  push chat "What is on today?"  one message, one answer
  push status --watch            what runs, what waits, what needs you
  push retries list              all that waits or failed, with the next step
  push doctor --fix              find what is wrong, and repair what is safe

`push NOUN --help` has examples of each. `push completion --help` has your shell complete them.

\b
Exit codes: 0 ok, 1 failed, 2 usage, 3 configuration, 4 dependency unavailable,
5 temporary, 6 conflict, 70 unexpected, 130 interrupted.
"""

_WRITE_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EIO,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's shape
        """The nouns, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's shape
        """The command of a noun; None for a word that is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        command.epilog = command.epilog or examples.epilog(cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The nouns that begin so, without importing any; options as click does."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        nouns = [(name, line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return [CompletionItem(name, help=line) for name, line in nouns]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, which looks for the nearest name among the commands that it has imported, and so finds none."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as exc:
            raise click.NoSuchCommand(exc.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's shape
        """The list of nouns in the help, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="push %(version)s")
@config_option
@json_option
def cli() -> None:
    """Push: a messaging gateway for a personal assistant."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. A command returns None, or an exit code of its own."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
    output.prepare()
    try:
        result = cli.main(args=words, prog_name="push", standalone_mode=False)
        output.close()
    except (output.OutputClosed, SystemExit):  # click ends by itself where nobody reads its help
        output.abandon()
        return EXIT_OK
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as exc:  # noqa: BLE001 - the last place: everything becomes three lines and an exit code
        failure = _as_push_error(exc)
        if environ.get("PUSH_DEBUG"):
            output.note(traceback.format_exc())
        output.error(failure, as_json=as_json)
        return failure.exit_code
    return result if isinstance(result, int) else EXIT_OK


def _as_push_error(exc: Exception) -> PushError:
    if isinstance(exc, PushError):
        return exc
    if isinstance(exc, click.ClickException):
        return _usage(exc)
    if isinstance(exc, OSError) and exc.errno in _WRITE_ERRORS:
        from push.paths import way_in

        return TemporaryError(
            f"{exc.strerror}: {exc.filename}" if exc.filename else str(exc.strerror),
            why="the operating system refused it",
            hint=way_in(Path(str(exc.filename or ".")), exc),
            code=errno.errorcode.get(exc.errno or 0, "temporary").lower(),
        )
    return _unexpected(exc)


def _usage(exc: click.ClickException) -> PushError:
    ctx = exc.ctx if isinstance(exc, click.UsageError) else None
    command = ctx.command_path if ctx else "push"
    group = ctx.command if ctx and isinstance(ctx.command, click.Group) else None
    commands = f"commands: {', '.join(group.list_commands(ctx))}" if ctx and group else ""
    if isinstance(exc, click.exceptions.NoArgsIsHelpError):
        return UsageError(f"{command} needs a command", why=commands, hint=f"{command} --help")
    why = commands or (" ".join(ctx.get_usage().split()) if ctx else f"{command} takes other words")
    return UsageError(" ".join(exc.format_message().split()), why=why, hint=f"{command} --help")


def _unexpected(exc: Exception) -> PushError:
    """An error that nobody foresaw. Its text is not shown: it may hold a message or a secret.

    It goes to the log (and to Sentry) of a process that has one; the others do not import what that takes.
    """
    if "push.telemetry" in sys.modules:
        import logging

        log = logging.getLogger("push.cli")
        if log.hasHandlers():  # where nobody listens, Python would print it
            log.critical("unexpected error", exc_info=exc)
    place = "an unknown place"
    trace = exc.__traceback__
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return PushError(
        f"unexpected {type(exc).__name__} at {place}",
        why="this is a defect of Push: PUSH_DEBUG=1 in front of the same command shows the traceback, to be reported "
        "without your messages in it",
        hint="push doctor",
    )
