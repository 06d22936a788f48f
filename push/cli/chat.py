"""`push chat`: talk to the assistant in this terminal, with one argument, or from a pipe."""

from __future__ import annotations

import errno
import getpass
import os
import sys
import threading
from typing import TYPE_CHECKING

import click

from push.cli import options, output
from push.errors import Failed, UsageError

if TYPE_CHECKING:
    from push.app.terminal import Printed, Terminal
    from push.config.settings import Settings

_PROMPT = "you> "
_POSTPONED = "postponed, `push retries list` says why"


@click.command()
@click.argument("text", required=False)
@click.option("--user", default=None, help="Whose conversation (local:<user>); default: your login name.")
@click.option("--no-wait", is_flag=True, help="Commit the message, print its turn's id, and do not wait.")
@options.config_option
@click.pass_context
def chat(ctx: click.Context, text: str | None, user: str | None, *, no_wait: bool) -> None:
    """Talk to the assistant here.

    Without TEXT it reads lines: from you with a prompt, or from a pipe until its end. It exits with 0 when everything
    was answered and 1 when something was not. At the prompt Ctrl-C stops the agent that you wait for, and Ctrl-D
    leaves. Elsewhere Ctrl-C leaves; the answer is then printed by the next `push chat`.
    """
    from push.app.gear import open_gear
    from push.app.terminal import Terminal

    gear = open_gear(_settings(ctx))
    terminal = Terminal(gear, user or _login_name(), _show)
    try:
        if no_wait:
            output.emit(str(terminal.submit(_one_message(text))))
            if not terminal.somebody_answers:
                output.note("No gateway is running; the next `push run` or `push chat` has it answered.")
        else:
            _talk(terminal, text)
    except BrokenPipeError:
        raise output.OutputClosed from None
    finally:
        if terminal.is_waiting and not no_wait:
            output.note("Left while a message waits. It is kept; its answer is printed by the next `push chat`.")
        terminal.close()
        gear.db.close()
    if terminal.unanswered:
        raise Failed(
            f"{terminal.unanswered} message{'s' * (terminal.unanswered > 1)} got no answer from the agent",
            why="what was printed for them says why",
            hint="push turns list",
            code="unanswered",
        )


def _settings(ctx: click.Context) -> Settings:
    from push import telemetry
    from push.app import embedded

    settings = options.settings_or_default(ctx)
    telemetry.configure(settings, "chat")
    return settings if settings.agent else embedded.choose(settings, output.note)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no USER, and no entry for us in the list of users
        raise UsageError("your login name is not known", why="USER is not set", hint="push chat --user ann") from None


def _one_message(text: str | None) -> str:
    if text is None:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("there is no message", why="it is empty", hint='push chat "What is on today?"')
    return text


def _show(printed: Printed) -> None:
    if not printed.own:
        output.note("An earlier answer:")
    if printed.note:
        output.note(printed.note)
    try:
        output.emit(printed.text)
    except output.OutputClosed:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None


def _talk(terminal: Terminal, text: str | None) -> None:
    if terminal.ensure_consumer():
        output.note("No gateway is running, so this terminal answers by itself.")
    if paused := terminal.paused_conversation:
        from push.report import hints

        output.note(f"{paused} is paused: nothing is answered until {hints.resume(paused)}")
    terminal.look()
    if text is not None:
        terminal.submit(_one_message(text))
        _until_answered(terminal, "waiting, Ctrl-C leaves (the answer is kept)")
    elif sys.stdin.isatty():
        _converse(terminal)
    else:
        _pipe(terminal)


def _until_answered(terminal: Terminal, waits: str = "waiting, Ctrl-C stops it") -> None:
    with output.Waiting() as waiting:
        while True:
            if terminal.has_news:
                waiting.clear()
            terminal.look()
            if not terminal.is_waiting:
                return
            waiting.tick(_POSTPONED if _is_postponed(terminal) else waits)
            terminal.pause()


def _is_postponed(terminal: Terminal) -> bool:
    turn = terminal.oldest_waiting()
    return turn is not None and turn.not_before is not None


def _pipe(terminal: Terminal) -> None:
    """Each line is a message; answers are printed as they come, while lines are still being read."""
    ended = threading.Event()
    failures: list[Exception] = []

    def read() -> None:
        try:
            # A reader of its own: Python ends with an abort where a thread is still in sys.stdin's.
            for line in open(sys.stdin.fileno(), "rb", closefd=False):  # noqa: SIM115 - not ours to close
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                if text.strip():
                    terminal.submit(text)
        except Exception as exc:  # noqa: BLE001 - raised again by the main thread, once what came before is answered
            failures.append(exc)
        finally:
            ended.set()
            terminal.wake()

    threading.Thread(target=read, name="stdin", daemon=True).start()
    is_told = False
    while True:
        is_last_look = ended.is_set()
        terminal.look()
        if is_last_look and not terminal.is_waiting:
            break
        if not is_told and _is_postponed(terminal):
            output.note(f"A message is {_POSTPONED}.")
            is_told = True
        terminal.pause()
    if failures:
        raise failures[0]


def _converse(terminal: Terminal) -> None:
    output.note("Type a message and press Enter. /help lists the commands, Ctrl-D leaves.")
    while True:
        output.ask(_PROMPT)
        while not terminal.rest(sys.stdin.fileno()):
            output.note("")  # what comes while a person types stands below the prompt, and a new prompt below it
            terminal.look()
            output.ask(_PROMPT)
        line = sys.stdin.buffer.readline().decode("utf-8", "replace")
        if not line:
            output.note("")
            return
        if line.strip():
            terminal.submit(line.rstrip("\r\n"))
            _answer_or_stop(terminal)


def _answer_or_stop(terminal: Terminal) -> None:
    try:
        _until_answered(terminal)
    except KeyboardInterrupt:
        if not terminal.cancel_oldest():
            raise
        _until_answered(terminal)
        output.note("Stopped.")
    terminal.unanswered = 0  # a person has seen what was said about it
