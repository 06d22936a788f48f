"""`push completion`: the script that lets a shell complete our commands, options and their values."""

from __future__ import annotations

import click

from push.cli import output
from push.cli.options import config_option

_INSTALL = """\b
To install it, for you alone (it takes effect in the next shell):
  mkdir -p ~/.local/share/bash-completion/completions
  push completion bash >~/.local/share/bash-completion/completions/push
  push completion zsh >"${fpath[1]}/_push"
  push completion fish >~/.config/fish/completions/push.fish

\b
Without the package bash-completion, or to try it in this shell:
  eval "$(push completion bash)"
"""


@click.command(epilog=_INSTALL)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@config_option
def completion(shell: str) -> None:
    """Print the script with which SHELL completes the words of `push`."""
    from click.shell_completion import get_completion_class

    from push.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = click.shell_completion.ShellComplete.source(kind(cli, {}, "push", "_PUSH_COMPLETE"))
    output.emit(script.rstrip())
