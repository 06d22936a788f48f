"""`push config`: where the settings are, what they are, whether they are right.

Owns how they are printed; does not own what is valid (`push.config`). No secret is printed, set or not is all.
"""

from __future__ import annotations

import json

import click

from push.cli import output
from push.cli.options import config_file, config_option, json_option, settings, settings_or_default, wants_json
from push.errors import ConfigError


@click.group()
@config_option
@json_option
def config() -> None:
    """Where the settings are, what they are, whether they are right."""


@config.command()
@config_option
@json_option
@click.pass_context
def path(ctx: click.Context) -> None:
    """Print where the configuration is read from.

    The file need not be there.
    """
    from push.config import config_path
    from push.paths import default_home

    file = config_path(config_file(ctx))
    if wants_json(ctx):
        output.emit_json({"path": str(file), "exists": file.is_file(), "home": str(default_home())})
    else:
        output.emit(str(file))


@config.command()
@config_option
@json_option
@click.pass_context
def show(ctx: click.Context) -> None:
    """Print every key with its value and where that is from.

    It is the value in effect. Secrets are hidden.
    """
    from push.config.reference import effective

    current = settings_or_default(ctx)
    items = effective(current)
    if wants_json(ctx):
        listed = [{"key": item.key, "value": item.value, "source": item.source} for item in items]
        output.emit_json({"path": str(current.path) if current.path else None, "items": listed})
    else:
        output.emit(f"# {current.path or 'no configuration: the embedded default'}")
        output.table([(item.key, item.shown(), item.source) for item in items], ("KEY", "VALUE", "FROM"))


@config.command()
@config_option
@json_option
@click.pass_context
def validate(ctx: click.Context) -> None:
    """Check the configuration. Exits with 3 and every finding where it is not right."""
    try:
        current = settings(ctx)
    except ConfigError as exc:
        if exc.hint.startswith("push config validate"):  # that is what was just done
            exc.hint = "push config schema --markdown"
        raise
    if wants_json(ctx):
        output.emit_json({"path": str(current.path), "valid": True})
    else:
        output.emit(f"{current.path}: valid")


@config.command()
@click.option("--markdown", is_flag=True, help="Print the reference page instead.")
@config_option
@json_option
@click.pass_context
def schema(ctx: click.Context, *, markdown: bool) -> None:
    """Print the JSON schema of config.toml, for editors."""
    from push.config import reference

    if markdown:
        output.emit(reference.markdown().rstrip("\n"))
    elif wants_json(ctx):
        output.emit_json({"schema": reference.json_schema()})
    else:
        output.emit(json.dumps(reference.json_schema(), indent=2, ensure_ascii=False))
