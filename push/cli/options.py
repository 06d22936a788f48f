"""The options that every command shares, and what they say: `--config FILE`, `--json`.

Owns what one invocation was told; does not own the settings themselves (`push.config`, loaded only when asked for).
Both options are taken before and after the noun; the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from push.config.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class Invocation:
    """What this call of `push` was told."""

    config: Path | None = None
    as_json: bool = False
    loaded: dict[str, Settings] = field(default_factory=dict)


def invocation(ctx: click.Context) -> Invocation:
    """The one invocation that all commands of this call share."""
    return ctx.ensure_object(Invocation)


def _take_config(ctx: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    if value is not None:
        invocation(ctx).config = value


def _take_json(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's shape
    if value:
        invocation(ctx).as_json = True


def config_option(function: F) -> F:
    """Take `--config FILE`. Every command and every group has it."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_take_config,
        help="The configuration (default: $PUSH_HOME/config.toml).",
    )(function)


def json_option(function: F) -> F:
    """Take `--json`. Every command that reads has it; `wants_json` says whether it was given."""
    return click.option("--json", is_flag=True, expose_value=False, callback=_take_json, help="Print one JSON object.")(
        function
    )


def wants_json(ctx: click.Context) -> bool:
    """Whether the answer is to be JSON."""
    return invocation(ctx).as_json


def config_file(ctx: click.Context) -> Path | None:
    """The file that `--config` names."""
    return invocation(ctx).config


def settings(ctx: click.Context) -> Settings:
    """The settings of the configuration, loaded once. Raises ConfigError, also where there is no file."""
    from push.config import load

    return _once(ctx, "file", load)


def settings_or_default(ctx: click.Context) -> Settings:
    """As `settings`, but without a file the embedded default: the terminal, and no agent chosen."""
    from push.config import load_or_default

    return _once(ctx, "default", load_or_default)


def _once(ctx: click.Context, name: str, load: Callable[[Path | None], Settings]) -> Settings:
    call = invocation(ctx)
    if name not in call.loaded:
        call.loaded[name] = load(call.config)
    return call.loaded[name]
