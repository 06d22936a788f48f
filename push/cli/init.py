"""`push init [PATH]`: from nothing to an assistant that answers, by dialog or by options alone.

Owns the words of the dialog and the order of the steps; does not own the steps themselves (`push.setup`). Safe to run
again: it changes what was asked for, or what does not work, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from push.cli import asking, ledger, output
from push.cli.options import config_file, config_option
from push.errors import ConfigError, DependencyError, TemporaryError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from push.config.edit import Changes
    from push.config.settings import Settings
    from push.setup.pairing import Claimed
    from push.supervisors.base import Supervisor

_AGENTS = ("claude", "codex", "pi", "command")
_TOKEN_TRIES = 3


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the command line asks for. `may_ask`: a person sits at the terminal."""

    path: Path | None
    agent: str | None
    token_file: str | None
    owner: str | None
    service: bool | None
    may_ask: bool


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--agent", type=click.Choice(_AGENTS), help="Who answers.")
@click.option("--bot-token-file", metavar="FILE", help="The file with the Telegram bot's token; - is standard input.")
@click.option("--owner", metavar="ID", help="Your numeric id on Telegram, instead of asking who you are.")
@click.option("--service/--no-service", default=None, help="Whether it is to run as a service of yours.")
@click.option("--no-input", is_flag=True, help="Ask nothing.")
@config_option
@click.pass_context
def init(ctx: click.Context, /, path: Path | None, **options: object) -> int:
    """Make an assistant in PATH, choose who answers, connect Telegram, and check it all.

    Without PATH it is the one that the configuration names, else the one that `push chat` has made, else ./assistant.
    At a terminal it asks; otherwise, and for whatever an option says, it does not. Nothing is overwritten, and it can
    be run again at any time. It ends with what `push doctor` says, and with 1 where something fails.
    """
    from push.cli import doctor
    from push.config import config_path
    from push.doctor import examine
    from push.paths import Home, default_home

    ledger.refuse_agents_of(Home.at(default_home()), "set up the assistant")
    wanted = _wanted(path, options)
    config = config_path(config_file(ctx))
    setup = _Setup(ctx, config, wanted)
    try:
        setup.run()
    except KeyboardInterrupt:
        output.note(f"\nLeft. What was done is kept; `{setup.again}` goes on from there.")
        raise
    output.note("")
    found = list(examine(config))
    doctor.show(found)
    setup.say_what_next()
    return 1 if doctor.failures(found) else 0


def _wanted(path: Path | None, options: dict[str, object]) -> _Wanted:
    from push.cli.allow import identity_of

    owner = options["owner"]
    return _Wanted(
        path,
        agent=options["agent"],  # type: ignore[arg-type]  # click's types
        token_file=options["bot_token_file"],  # type: ignore[arg-type]
        owner=None if owner is None else identity_of(str(owner), chat=False)[1],
        service=options["service"],  # type: ignore[arg-type]
        may_ask=asking.possible() and not options["no_input"],
    )


class _Setup:
    """One run of the command. Each step leaves a configuration that loads."""

    def __init__(self, ctx: click.Context, config: Path, wanted: _Wanted) -> None:
        from push.setup import folder

        self._ctx = ctx
        self._config = config
        self._wanted = wanted
        self._bot = ""
        self._changed = False
        self._at = folder.at(config)
        self.again = f"push init{self._at}"

    def run(self) -> None:
        token = self._given_token()
        settings = self._assistant()
        settings = self._telegram(settings, token)
        self._people(settings)
        self._service()

    # -- the folder and the agent ----------------------------------------------------------------------------------

    def _assistant(self) -> Settings:
        from push.config import edit
        from push.config.findings import InvalidConfig
        from push.setup import folder, wishes

        chosen = folder.choose(self._config, self._wanted.path)
        folder.check(chosen, self._config)
        now = wishes.document(self._config)
        changes: dict[str, str | list[str] | SecretStr] = {**wishes.for_terminal(now)}
        if not chosen.is_configured:
            changes["assistant_root"] = folder.written(chosen.root, self._config)
        agent = self._wanted.agent or (None if "agent" in now else self._choose_agent())
        if agent is not None:
            changes |= wishes.for_agent(now, agent)
        try:
            draft = edit.draft(self._config, changes)
        except InvalidConfig as exc:
            raise folder.refusal(chosen, self._config, exc) from None
        if self._wanted.agent is not None:
            _check_agent(draft.settings)
        prepared = folder.prepare(chosen, self._config)
        made = f"made {', '.join(prepared.made)}" if prepared.made else "as it is"
        output.note(f"Assistant: {chosen.root} ({'; '.join(filter(None, (chosen.why, made)))})")
        if prepared.unversioned:
            output.note(f"It is not under version control: {prepared.unversioned}. Later: git init {chosen.root}")
        saved = draft.save()
        self._changed |= saved
        output.note(f"Configuration: {self._config} ({'written' if saved else 'as it is'})")
        output.note(f"Agent: {_agent_in_words(draft.settings)}")
        return draft.settings

    def _choose_agent(self) -> str:
        from push.setup import wishes

        present = wishes.agents_present()
        if not present:
            output.note("No agent is on PATH (claude, codex, pi), so the demonstration answers, which has no model.")
            output.note(f"When there is one: push init --agent claude{self._at}")
            return "command"
        if len(present) > 1 and self._wanted.may_ask:
            return asking.choose("Which agent is to answer?", present)
        return present[0]

    # -- Telegram --------------------------------------------------------------------------------------------------

    def _given_token(self) -> SecretStr | None:
        from push.setup import bot

        name = self._wanted.token_file
        if name is None:
            return None
        if name == "-" and asking.possible():
            return bot.from_text(asking.hidden("The bot's token (it is not shown): "), "what you typed")
        return bot.from_file(name)

    def _telegram(self, settings: Settings, token: SecretStr | None) -> Settings:
        """The settings with a bot that the service knows, or as they were."""
        from push.providers.base import Closed, Identity
        from push.setup import bot

        if token is not None:
            return self._connected(settings, token)
        if settings.telegram.bot_token is None:
            return self._asked_for_token(settings, "Make a bot: write /newbot to @BotFather in Telegram.")
        found = bot.identify(settings)
        match found:
            case Identity():
                return self._turned_on(found.label)
            case Closed():
                if not self._wanted.may_ask:
                    raise self._refused()
                return self._asked_for_token(settings, "Telegram refuses the bot token that is configured.")
        raise self._unreachable(settings, found.reason)

    def _connected(self, settings: Settings, token: SecretStr) -> Settings:
        """The settings with a token that the service accepts, written down. Raises where it does not."""
        from push.providers.base import Closed, Identity
        from push.setup import bot

        match bot.identify(bot.with_token(settings, token)):
            case Identity(label=label):
                return self._turned_on(label, {"telegram.bot_token": token})
            case Closed():
                raise self._refused()
            case later:
                raise self._unreachable(settings, later.reason)

    def _turned_on(self, label: str, more: Changes | None = None) -> Settings:
        from push.config import edit
        from push.setup import bot, wishes

        self._bot = label
        draft = edit.draft(self._config, {**wishes.for_telegram(wishes.document(self._config)), **(more or {})})
        saved = draft.save()
        self._changed |= saved
        output.note(f"Telegram: the bot is {label}{', written into the configuration' if saved else ''}")
        if bot.lies_outside_file(draft.settings):
            output.note(
                "Its token does not stand in the configuration: a service does not see your terminal's variables."
            )
        return draft.settings

    def _asked_for_token(self, settings: Settings, why: str) -> Settings:
        from push.config.kinds import TOKEN_SHAPE
        from push.errors import UsageError
        from push.setup import bot

        if not bot.may_be_written(settings):
            name = settings.telegram.bot_token_env
            output.note("The configuration lies in the assistant's folder, which holds no secrets: put a token that")
            output.note(f"Telegram knows into the variable {name}, and then: {self.again}")
            return settings
        if not self._wanted.may_ask:
            output.note(f"Left out: Telegram. With a bot's token in a file: push init --bot-token-file FILE{self._at}")
            return settings
        output.note(why)
        for _ in range(_TOKEN_TRIES):
            text = asking.hidden("The bot's token (it is not shown; Enter alone: only the terminal): ")
            if not text:
                break
            try:
                return self._connected(settings, bot.from_text(text, "what you typed"))
            except UsageError as exc:
                output.note(f"That is {exc.message.partition('holds ')[2]}. Give it {TOKEN_SHAPE}.")
            except ConfigError as exc:
                if exc.code != "token_rejected":
                    raise
                output.note(f"{exc.message}: {exc.why}.")
        output.note(f"Left out: Telegram. Later: {self.again}")
        return settings

    def _refused(self) -> ConfigError:
        return ConfigError(
            "Telegram does not know a bot with this token",
            why="it was revoked, or is not whole; it was not stored",
            hint=f"push init --bot-token-file -{self._at}",
            code="token_rejected",
        )

    def _unreachable(self, settings: Settings, reason: str) -> TemporaryError:
        return TemporaryError(
            f"{settings.telegram.base_url} cannot be asked whose token it is",
            why=f"{reason.replace('_', ' ')}; what was done before is kept",
            hint=self.again,
            code="not_checked",
        )

    # -- people ----------------------------------------------------------------------------------------------------

    def _people(self, settings: Settings) -> None:
        from push.setup import people

        if self._wanted.owner is not None:
            people.let_in(settings, ("telegram", "user", self._wanted.owner), None)
        if "telegram" not in settings.channels:
            return
        if who := people.allowed(settings):
            output.note(f"Who may write: {', '.join(who)}")
        elif not self._wanted.may_ask:
            output.note(f"Left out: who may write. With your number on Telegram: push init --owner ID{self._at}")
        elif self._bot:
            claimed = self._paired(settings)
            if claimed is not None:
                people.let_in(settings, ("telegram", "user", str(claimed.user)), claimed.name)
                output.note(f"Who may write: {claimed.name} ({claimed.user})")

    def _paired(self, settings: Settings) -> Claimed | None:
        """Whoever sent the code, and is who they should be in the eyes of the person at the terminal."""
        from push.setup import pairing

        with pairing.reading_alone(settings):
            while True:
                code = pairing.Code.new()
                output.note(
                    f"Now open this on your phone, or in a browser, and press Start:\n\n  {code.link(self._bot)}\n"
                )
                output.note(
                    f"(or write to {self._bot}: /start {code.text}). Waiting, at most 10 minutes; Ctrl-C leaves."
                )
                match pairing.wait(settings, code, output.note):
                    case pairing.Expired():
                        output.note("Nobody sent it in time.")
                        if not asking.confirm("Try again, with a new one?", usual=True):
                            break
                    case pairing.Crowded():
                        output.note("A hundred messages or more wait for the bot, and yours is behind them.")
                        output.note(
                            "Start the gateway, which reads them all, write to the bot, and then: push allow list"
                        )
                        return None
                    case claimed:
                        output.note(f"{claimed.name}, number {claimed.user}, has sent it.")
                        if asking.confirm("Is that you?", usual=False):
                            return claimed
        output.note(f"Left out: who may write. Later: {self.again}")
        return None

    # -- the service, and the end ----------------------------------------------------------------------------------

    def _service(self) -> None:
        from push.cli import service
        from push.supervisors import registry

        wanted = self._wanted.service
        if wanted is None and self._wanted.may_ask and self._bot:
            supervisor = registry.here()
            if supervisor is None or self._runs(supervisor):
                return
            wanted = asking.confirm(f"Run it as a service ({supervisor.name}), from now on?", usual=True)
            if not wanted:
                output.note("Left out: the service. Later: push service install")
        if not wanted:
            return
        self._ctx.invoke(service.install, name=registry.DEFAULT_NAME, show=False, linger=False, hardened=None)
        self._changed = False  # it was started with what the configuration says now

    def _runs(self, supervisor: Supervisor) -> bool:
        """Whether the service runs as it should, or a gateway beside which none may be started."""
        from push.supervisors import registry
        from push.tasks import roles

        state = supervisor.state(registry.DEFAULT_NAME)
        there = supervisor.installed(registry.DEFAULT_NAME)
        if state.active and there is not None and supervisor.is_current(registry.renewed(there)):
            output.note(f"Service: it runs, under {supervisor.name}")
            return True
        return any(held.role == "poll" and held.pid != state.pid for held in roles.living(self._settings().home.run))

    def _settings(self) -> Settings:
        from push.config import load

        return load(self._config)

    def say_what_next(self) -> None:
        """The last lines: what to do now."""
        from push.tasks import roles

        output.note("")
        if any(held.role == "poll" for held in roles.living(self._settings().home.run)):
            first = f"Next: push reload{self._at}" if self._changed else "The gateway runs."
        else:
            first = f"Next: push run{self._at}"
        output.note(first)
        if self._bot:
            output.note(f"{'Then write' if first.startswith('Next') else 'Write'} to {self._bot} in Telegram.")
        else:
            output.note('Or at once: push chat "Hello"')


def _agent_in_words(settings: Settings) -> str:
    from push.agents import demo

    is_demo = settings.agent == "command" and settings.command == demo.program()
    return "the demonstration, which has no model" if is_demo else settings.agent


def _check_agent(settings: Settings) -> None:
    """Raise DependencyError where the agent that was asked for has no program here."""
    import shutil

    from push.setup import wishes

    program = settings.bin_for(settings.agent)[0]
    if shutil.which(program):
        return
    present = wishes.agents_present()
    on_path = f"on PATH: {', '.join(present)}" if present else "none of claude, codex and pi is on PATH"
    is_own = settings.agent == "command"  # a program of the owner's own, which nothing replaces unasked
    instead = present[0] if present else None if is_own else "command"
    raise DependencyError(
        f"the agent {settings.agent} is not installed: {program} is not found",
        why=on_path if is_own else f"{on_path}; the demonstration (command) always is",
        hint=f"push init --agent {instead}" if instead else "push config show",
        code="agent_missing",
    )
