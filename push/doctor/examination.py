"""The order of the checks, and that none of them can hang or break the others.

Owns which checks there are, that independent ones run at the same time, and their bounds; does not own what any of
them looks at.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from push import config
from push.config.settings import Settings
from push.doctor import agents, configuration, ledger, machine, permissions, processes, service
from push.doctor.findings import Finding, failed, fine, of_error
from push.errors import ConfigError, PushError
from push.paths import default_home, way_in

_SECONDS = 15.0  # a busy machine, and a program that is asked for 10 s
_READING_SECONDS = 2.5  # a ledger of a million messages
_NETWORK_SECONDS = 15.0  # two questions of 5 s, and a name that is looked up
_ASKING_SECONDS = 45.0  # an agent has 20 s, behind another one who asks it


@dataclass(frozen=True, slots=True)
class Check:
    """A look at one thing. Looks longer than `seconds` are given up; `late` is then the finding."""

    name: str
    look: Callable[[], Iterable[Finding]]
    seconds: float = _SECONDS
    late: Finding | None = None


def examine(explicit: Path | None, also: Sequence[Callable[[Settings], Iterable[Finding]]] = ()) -> Iterator[Finding]:
    """Check one thing after the other, in a fixed order; what builds on another is looked at after its repair.

    `also` are checks that are made only where they are asked for, after the agents.
    """
    for finding in _findings(explicit, also):
        yield replace(finding, hint=_at(explicit, finding.hint))


def _findings(explicit: Path | None, also: Sequence[Callable[[Settings], Iterable[Finding]]]) -> Iterator[Finding]:
    yield from _together([Check("home", machine.home)])
    try:
        settings = config.load_or_default(explicit)
    except ConfigError as exc:
        yield of_error("config", exc, "" if exc.code == "home_unknown" else "push config validate")
        if exc.code != "home_unknown":
            yield from _together([Check("disk", partial(machine.room, default_home())), *_of_machine()])
        return
    yield fine("config", str(settings.path or "no file: the embedded default, the terminal alone"))
    yield from _together([Check("permissions", partial(permissions.look, settings))])
    yield from _together([Check("disk", partial(machine.room, settings.home.root, settings))])
    yield from _together([*_of_machine(), *_of_home(settings, also)])


def _of_machine() -> list[Check]:
    return [
        Check("sqlite", machine.sqlite),
        Check("timezone", machine.timezone),
    ]


def _of_home(settings: Settings, also: Sequence[Callable[[Settings], Iterable[Finding]]]) -> list[Check]:
    home = settings.home
    return [
        Check("descriptors", partial(machine.descriptors, settings.turns_workers)),
        Check("config", partial(configuration.look, settings)),
        Check("ledger", partial(ledger.file, home), _READING_SECONDS, ledger.too_large(home)),
        Check("wal", partial(ledger.wal, home)),
        Check("state", partial(ledger.state, home)),
        Check("processes", partial(processes.look, settings)),
        Check("work", partial(ledger.work, settings)),
        Check("agent", partial(agents.look, settings)),
        *(Check("agent", partial(look, settings), _ASKING_SECONDS) for look in also),
        Check("assistant", partial(configuration.soul, settings)),
        Check("service", partial(service.look, settings)),
        *([Check("telegram", partial(_telegram, settings), _NETWORK_SECONDS)] if _is_on(settings) else []),
    ]


def _is_on(settings: Settings) -> bool:
    return "telegram" in settings.channels


def _telegram(settings: Settings) -> Iterable[Finding]:
    from push.doctor import telegram  # brings an HTTP client along

    return telegram.look(settings)


def _at(explicit: Path | None, hint: str) -> str:
    """A command of ours means the same configuration as this call did."""
    if explicit is None or not hint.startswith("push ") or "--config" in hint:
        return hint
    with suppress(ConfigError):
        if config.config_path(explicit) == config.config_path():
            return hint
    return f"push --config {shlex.quote(str(explicit))} {hint.removeprefix('push ')}"


# -- running them ----------------------------------------------------------------------------------------------------


def _together(checks: Sequence[Check]) -> Iterator[Finding]:
    """Look at all of it at the same time; the findings come in the order of the checks."""
    looks = [_Look(check) for check in checks]
    for look in looks:
        yield from look.findings()


class _Look:
    """A check under way, on a thread that is left behind where it does not end."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._found: list[Finding] = []
        self._thread = threading.Thread(target=self._run, name=f"doctor-{check.name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        name = self._check.name
        try:
            self._found = list(self._check.look())
        except PushError as exc:
            self._found = [of_error(name, exc, "push doctor")]
        except OSError as exc:
            path = Path(str(exc.filename or default_home()))
            self._found = [failed(name, "unexpected", f"{exc.strerror}: {path}", way_in(path, exc))]
        except Exception as exc:  # noqa: BLE001  the other checks go on; its text may hold anything
            self._found = [failed(name, "unexpected", f"unexpected {type(exc).__name__} at {_place(exc)}: a defect")]

    def findings(self) -> list[Finding]:
        self._thread.join(self._check.seconds)
        if not self._thread.is_alive():
            return self._found
        late = failed(self._check.name, "no_end", f"the check did not end within {self._check.seconds:.0f} s")
        return [self._check.late or replace(late, hint="push doctor")]


def _place(exc: BaseException) -> str:
    place, trace = "an unknown place", exc.__traceback__
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
