"""`push allow`: who may write to the assistant, who was refused lately, and how to let somebody in.

Owns what an id is on the command line; does not own the settings' own lists (`push.config`), nor who is let through
(`push.providers`). A running gateway asks the ledger at each look, so that a change holds at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from push.cli import ledger, output, records
from push.cli.options import config_option, json_option, settings_or_default, wants_json
from push.errors import ConflictError, UsageError
from push.providers.registry import CHANNELS

if TYPE_CHECKING:
    from push.config.settings import Settings
    from push.ledger.allowlist import Entry, Refusal

_ID = re.compile(r"-?[1-9][0-9]{0,15}")
_LARGEST = 2**52  # the service's ids have no more significant bits
_FIND = "let the person write to the bot, then: push allow list"
_channel_option = click.option(
    "--channel", type=click.Choice(sorted(CHANNELS)), default="telegram", show_default=True, help="Of this channel."
)
_chat_option = click.option("--chat", is_flag=True, help="ID is a chat's (a group's), not a person's.")


@click.group(invoke_without_command=True, options_metavar="", subcommand_metavar="[list|add|remove]")
@config_option
@json_option
@click.pass_context
def allow(ctx: click.Context) -> None:
    """Show who may write, and who was refused lately.

    Beside who was refused stands the command that lets one in.
    """
    ledger.refuse_agents(ctx, "see or change who may write to the assistant")
    if ctx.invoked_subcommand is None:
        _list(ctx)


@allow.command("list")
@config_option
@json_option
@click.pass_context
def list_(ctx: click.Context) -> None:
    """Show who may write, and who was refused lately.

    Beside who was refused stands the command that lets one in.
    """
    _list(ctx)


def _list(ctx: click.Context) -> None:
    from push.ledger import allowlist

    with ledger.opened(ctx) as db:
        entries = allowlist.entries(db) if db is not None else []
        refusals = allowlist.refusals(db) if db is not None else []
    items = _items(settings_or_default(ctx), entries)
    if wants_json(ctx):
        output.emit_json({"items": items, "refusals": [_refusal(refusal) for refusal in refusals]})
        return
    if items:
        rows = [(i["channel"], i["kind"], i["id"], i["stands_in"], i["note"]) for i in items]
        output.table(rows, ("CHANNEL", "KIND", "ID", "STANDS IN", "NOTE"))
    else:
        way = "a command below lets one in" if refusals else f"to let somebody in, {_FIND}"
        output.note(f"Nobody may write but you, at the terminal; {way}")
    if refusals:
        _show_refusals(refusals)


def _items(settings: Settings, entries: list[Entry]) -> list[dict[str, Any]]:
    from push import clock

    configured = [
        {"channel": "telegram", "kind": kind, "id": str(number), "stands_in": "config", "note": None, "added_at": None}
        for kind, ids in (("user", settings.telegram.allow_user_ids), ("chat", settings.telegram.allow_chat_ids))
        for number in sorted(ids)
    ]
    return configured + [
        {
            "channel": entry.channel,
            "kind": entry.kind,
            "id": entry.id,
            "stands_in": "command",
            "note": entry.note,
            "added_at": clock.iso(entry.added_at),
        }
        for entry in entries
    ]


def _refusal(refusal: Refusal) -> dict[str, Any]:
    from push import clock

    return {
        "channel": refusal.channel,
        "sender": refusal.sender,
        "chat": refusal.chat,
        "count": refusal.count,
        "first_at": clock.iso(refusal.first_at),
        "last_at": clock.iso(refusal.last_at),
        "hint": _let_in(refusal),
    }


def _let_in(refusal: Refusal) -> str:
    """The command: a person writes in private, and a group is let in as a whole."""
    channel = "" if refusal.channel == "telegram" else f" --channel {refusal.channel}"
    if refusal.chat.startswith("-"):
        return f"push allow add --chat {refusal.chat}{channel}"
    return f"push allow add {refusal.sender}{channel}"


def _show_refusals(refusals: list[Refusal]) -> None:
    from push import clock

    now = clock.now_ms()
    output.emit("\nRefused lately:")
    rows = [(r.channel, r.sender, r.chat, r.count, records.ago(r.last_at, now), _let_in(r)) for r in refusals]
    output.table(rows, ("CHANNEL", "SENDER", "CHAT", "TIMES", "LAST", "LETS IN"))


@allow.command(context_settings={"ignore_unknown_options": True})  # -1001234 is no option
@click.argument("name", metavar="ID")
@_chat_option
@_channel_option
@click.option("--note", metavar="TEXT", help="Who it is, for you.")
@config_option
@json_option
@click.pass_context
def add(ctx: click.Context, name: str, *, chat: bool, channel: str, note: str | None) -> None:
    """Let a person write to the assistant, at once.

    With --chat, everybody in a chat.
    """
    from push.setup import people

    kind, identity = identity_of(name, chat=chat)
    settings = settings_or_default(ctx)
    added = people.let_in(settings, (channel, kind, identity), note)
    if wants_json(ctx):
        output.emit_json({"channel": channel, "kind": kind, "id": identity, "added": added})
        return
    stands = _place_in_config(settings, channel, kind, identity)
    output.emit(f"{_named(kind, identity)} may write on {channel}{'' if added else ', as before'}.")
    if stands:
        output.note(f"It stands in the configuration too: {stands}.")
    if channel not in settings.channels:
        output.note(f'{channel} is off so far: channels = ["{channel}"] in config.toml turns it on.')


@allow.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="ID")
@_chat_option
@_channel_option
@config_option
@json_option
@click.pass_context
def remove(ctx: click.Context, name: str, *, chat: bool, channel: str) -> None:
    """Let a person or a chat write no longer. What stands in the configuration is taken out there."""
    from push.ledger import allowlist
    from push.setup import people

    kind, identity = identity_of(name, chat=chat)
    settings = settings_or_default(ctx)
    with ledger.opened(ctx) as db:
        removed = db is not None and allowlist.remove(db, channel, kind, identity)
    if removed:
        people.record(settings, "removed", (channel, kind, identity))
    if stands := _place_in_config(settings, channel, kind, identity):
        raise ConflictError(
            f"{_named(kind, identity)} still may write on {channel}",
            why=f"it stands in the configuration: {stands}",
            hint="push reload",
            code="in_configuration",
        )
    if not removed:
        raise ledger.not_there(f"{kind} {identity} allowed on {channel}", "push allow list")
    if wants_json(ctx):
        output.emit_json({"channel": channel, "kind": kind, "id": identity})
    else:
        output.emit(f"{_named(kind, identity)} may write on {channel} no longer.")


def identity_of(name: str, *, chat: bool) -> tuple[str, str]:
    """(`user` or `chat`, the id). Raises UsageError for whatever is not an id, to the letter: names change owners."""
    if not _ID.fullmatch(name) or abs(int(name)) > _LARGEST:
        why = "an id is a number that never changes, such as 123456789; let the person write to the bot, and list it"
        raise UsageError(f"{name!r} is no id", why=why, hint="push allow list")
    if name.startswith("-") and not chat:
        why = "a negative id is that of a group, in which everybody could then write"
        raise UsageError(f"{name} is no person's id", why=why, hint=f"push allow add --chat {name}")
    return "chat" if chat else "user", name


def _place_in_config(settings: Settings, channel: str, kind: str, identity: str) -> str:
    """File and key where an id stands in the configuration; "" where it does not."""
    telegram = settings.telegram
    ids, key = (telegram.allow_user_ids, "user") if kind == "user" else (telegram.allow_chat_ids, "chat")
    if channel != "telegram" or int(identity) not in ids:
        return ""
    return f"{settings.path}, telegram.allow_{key}_ids"


def _named(kind: str, identity: str) -> str:
    return f"Everybody in chat {identity}" if kind == "chat" else f"User {identity}"
