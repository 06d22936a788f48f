"""`push backup`: make one, judge one, bring one up as a home of its own.

Owns the words and what is printed; does not own backups (`push.backup`).
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output, records
from push.cli.options import config_option, json_option, settings_or_default, wants_json

if TYPE_CHECKING:
    from push.backup.manifest import Manifest
    from push.backup.restoration import Restored
    from push.backup.verification import Verdict

_FILE = click.Path(path_type=Path, dir_okay=True)
_LEFT_OUT = "queue.db, spool/, logs/, audit.jsonl (nothing of them is needed)"


@click.group()
@config_option
@json_option
def backup() -> None:
    """Keep a copy of a home, and bring it up elsewhere so that nothing is answered twice."""


@backup.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--with-secrets", is_flag=True, help="Keep the configuration's secrets in it.")
@config_option
@json_option
@click.pass_context
def create(ctx: click.Context, file: Path | None, *, with_secrets: bool) -> None:
    """Write a backup of this home into FILE.

    A gateway may work beside it. FILE is push-backup-<instant>.tar.gz in the current folder where it is not named; one
    that ends in .tar is not packed. In it are push.db, state.json and config.toml, that one without its secrets.
    """
    from push.backup import creation

    ledger.refuse_agents(ctx, "make a backup")
    wish = creation.Wish(file or Path(creation.default_name()), with_secrets)
    with output.Waiting() as waiting:
        made = creation.create(settings_or_default(ctx), wish, waiting.tick)
    manifest = made.manifest
    if wants_json(ctx):
        output.emit_json({"file": str(made.file), "size": made.size, **_fields(manifest)})
        return
    output.emit(f"{made.file}: {_counts(manifest)}, {records.size(made.size)}.")
    output.note(f"Not in it: {_LEFT_OUT};")
    if manifest.secrets and not with_secrets:
        output.note(f"  secrets ({', '.join(manifest.secrets)});")
    output.note(f"  the assistant's folder {manifest.assistant_root}, which is yours.")
    output.note(f"Check it with: push backup verify {quote(str(made.file))}")


@backup.command()
@click.argument("file", type=_FILE)
@config_option
@json_option
@click.pass_context
def verify(ctx: click.Context, file: Path) -> int:
    """Prove that a backup is whole.

    It names what is missing in it or contradicts itself, and exits with 1 where anything does.
    """
    from push.backup import verification

    with output.Waiting() as waiting:
        verdict = verification.verify(file, waiting.tick)
    damages = [{"code": damage.code, "row": damage.row, "message": damage.sentence} for damage in verdict.damages]
    if wants_json(ctx):
        inside = _fields(verdict.manifest) if verdict.manifest else None
        output.emit_json({"ok": not damages, "backup": inside, "items": damages, "omitted": verdict.omitted})
    else:
        _show(file, verdict)
    return int(bool(damages))


def _show(file: Path, verdict: Verdict) -> None:
    if verdict.manifest is not None:
        manifest = verdict.manifest
        output.emit(f"{file}: {manifest.home} at {manifest.created_at}, by push {manifest.push}")
        for name, member in manifest.files.items():
            output.emit(f"  {name:12} {records.size(member.size)}")
        kept = "with its secrets" if manifest.with_secrets else "without secrets"
        has_config = "config.toml" in manifest.files
        output.emit(f"  {_counts(manifest)}; {f'configuration {kept}' if has_config else 'no configuration'}")
    for damage in verdict.damages:
        output.emit(f"{damage.code}  {damage.row}: {damage.sentence}")
    for code, count in verdict.omitted.items():
        output.emit(f"{code}  … and {count} more")
    if verdict.damages:
        count = len(verdict.damages) + sum(verdict.omitted.values())
        output.note(f"{count} damage{'s' if count > 1 else ''}. What each means: docs/reference/verify.md")
    else:
        output.emit("All is accounted for.")


@backup.command()
@click.argument("file", type=_FILE)
@click.option("--to", "home", type=_FILE, metavar="HOME", help="The home to make (default: $PUSH_HOME).")
@config_option
@json_option
@click.pass_context
def restore(ctx: click.Context, file: Path, home: Path | None) -> None:
    """Bring a backup up as a home, which must be absent or empty.

    Stop the original first. What was open in it is held, and so is what was written before now: the original may have
    answered it. `push retries list` shows it, `push retries now --held` lets all of it be handled.
    """
    from push.backup import restoration
    from push.paths import default_home

    _refuse_agents()
    with output.Waiting() as waiting:
        done = restoration.restore(file, home or default_home(), waiting.tick)
    if wants_json(ctx):
        output.emit_json(
            {
                "home": str(done.home),
                "held": {"turns": done.held.turns, "deliveries": done.held.deliveries},
                "notes": list(done.notes),
                "missing": [{"message": lack.what, "hint": lack.hint} for lack in done.missing],
                **_fields(done.manifest),
            }
        )
    else:
        _tell(done)


def _refuse_agents() -> None:
    """Without the settings: there are none yet, or those of another home."""
    from push.paths import Home, default_home

    ledger.refuse_agents_of(Home.at(default_home()), "restore a backup")


def _tell(done: Restored) -> None:
    output.emit(f"{done.home}: {_counts(done.manifest)}, as of {done.manifest.created_at}.")
    output.emit(f"Held, so that nothing is answered twice: {records.rows(done.held.turns, done.held.deliveries)}.")
    for note in done.notes:
        output.emit(f"config.toml: {note}")
    for lack in done.missing:
        output.emit(f"Missing: {lack.what}\n  next: {lack.hint}")
    output.note(f"See what is held: PUSH_HOME={quote(str(done.home))} push retries list")


def _counts(manifest: Manifest) -> str:
    return records.rows(manifest.turns, manifest.deliveries)


def _fields(manifest: Manifest) -> dict[str, Any]:
    """A manifest under `--json`, but for the names of its files' hashes."""
    return {
        "created_at": manifest.created_at,
        "push": manifest.push,
        "schema": manifest.schema,
        "turns": manifest.turns,
        "deliveries": manifest.deliveries,
        "original_home": manifest.home,
        "assistant_root": manifest.assistant_root,
        "with_secrets": manifest.with_secrets,
        "secrets": list(manifest.secrets),
        "files": {name: member.size for name, member in manifest.files.items()},
    }
