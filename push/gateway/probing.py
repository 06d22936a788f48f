"""Asking an agent CLI for one word: whether it is there, logged in and answering.

Owns the tiny turn, for `push chat`, doctor and init; does not own what a person does about what comes of it
(`push.doctor.agents`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from push.agents import process
from push.agents import spool as spooling
from push.agents.registry import adapter_for
from push.agents.spool import Spool
from push.config.settings import Settings
from push.gateway.planning import launch_for
from push.locks import FileLock
from push.model.values import Answered, Request

PROBE_SECONDS = 20.0
_PROMPT = "Reply with the single word: ready"


def probe_all(settings: Settings, names: Sequence[str]) -> dict[str, str | None]:
    """Ask them all at once: name -> as `probe`. Ctrl-C ends what was started."""
    with ThreadPoolExecutor() as pool:
        try:
            return dict(zip(names, pool.map(lambda name: probe(settings, name), names), strict=True))
        except KeyboardInterrupt:
            for name in names:
                process.terminate(_spool(settings, name))
            raise


def probe(settings: Settings, name: str) -> str | None:
    """Run one tiny turn with an agent CLI; None when it answered, else the code of what went wrong.

    It runs in the assistant's folder, as every turn does; in the spool while there is none. Raises OSError where the
    home is not usable.
    """
    adapter = adapter_for(name, settings.bin_for(name))
    lock = FileLock.take(settings.home.run / "locks" / f"probe-{name}.lock", wait_seconds=PROBE_SECONDS)
    if lock is None:
        return "busy"
    with lock:
        spool = spooling.prepare(settings.home.spool, f"probe-{name}", prompt=_PROMPT.encode(), instructions="")
        request = Request(
            session_id=adapter.new_session_id(),
            is_new=True,
            work_dir=_work_dir(settings, spool),
            instructions="",
            instructions_file=spool.instructions,
            prompt=_PROMPT,
        )
        process.start(spool, launch_for(settings, adapter, request, (PROBE_SECONDS, 1.0)), lock.fd).wait(None)
        exited = spooling.read_result(spool)
        outcome = adapter.read(request, exited) if exited else None
        spooling.remove(spool)
    if isinstance(outcome, Answered):
        return None
    return getattr(outcome, "code", "no_result")


def _work_dir(settings: Settings, spool: Spool) -> Path:
    return settings.assistant_root if settings.assistant_root.is_dir() else spool.dir


def _spool(settings: Settings, name: str) -> Spool:
    return Spool.at(settings.home.spool, f"probe-{name}")
