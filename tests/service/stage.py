"""Doing what an owner does with a service: start it, see that it polls, look at what it left.

Owns the words for it; does not own the home (`tests.channels.scene`) nor systemd (`tests.service.systemd`).
"""

from __future__ import annotations

from pathlib import Path

from push.locks import is_held
from push.tasks import roles
from tests.channels.scene import Scene
from tests.service.systemd import UserManager

UNIT = "push.service"
OWNER = 7


def until_polling(manager: UserManager, place: Scene) -> int:
    """Wait until the service's own process reads the channel; that process."""
    place.until(lambda: _poller(place.root) == _main(manager) != 0, "a service that polls")
    return _main(manager)


def start(manager: UserManager, place: Scene) -> int:
    """Start the service, and wait until it has its roles; its process."""
    manager.done("start", UNIT)
    pid = _main(manager)
    wanted = {("poll", pid), ("consumer-0", pid)}
    place.until(
        lambda: {(holder.role, holder.pid) for holder in roles.living(place.root / "run")} == wanted, "a service"
    )
    return pid


def held(root: Path) -> list[str]:
    """The locks of a home that somebody holds."""
    return [path.name for path in (root / "run").rglob("*") if path.is_file() and is_held(path)]


def sizes(root: Path) -> dict[str, int]:
    """Every file of a home with its size, but for those that hold a process's number."""
    files = (path for path in root.rglob("*") if not path.is_dir() and path.suffix != ".role")
    return {str(path.relative_to(root)): path.lstat().st_size for path in files}


def override(name: str, *lines: str) -> None:
    """As `systemctl --user edit` would: settings of the owner's own. Read at the next daemon-reload."""
    file = Path(f"~/.config/systemd/user/{UNIT}.d/{name}.conf").expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(("[Service]", *lines, "")))


def _poller(root: Path) -> int:
    holders = roles.living(root / "run")
    return next((holder.pid for holder in holders if holder.role == "poll" and holder.loops), -1)


def _main(manager: UserManager) -> int:
    return int(manager.show(UNIT, "MainPID"))
