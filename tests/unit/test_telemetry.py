"""What reaches the log, standard error and Sentry, seen from outside a process that holds secrets and text."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

TOKEN = "8012345678:AAF-x_Q9wErTyUiOpAsDfGhJkLzXcVbNm12"
TEXT = "meet me at the old mill"

_PREPARE = """
import logging, sys, threading
from push import config, telemetry
from push.errors import TemporaryError
TOKEN, TEXT = sys.argv[1:]
telemetry.configure(config.load(), "consumer")
log = logging.getLogger("push.tasks.turns")
"""


def run(home: Path, code: str, *, dsn: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a process of its own that knows TOKEN from its configuration, and TEXT as a message."""
    (home / "assistant").mkdir(exist_ok=True)
    sentry = f'[sentry]\ndsn = "{dsn}"\n' if dsn else ""
    (home / "config.toml").write_text(
        f'channel = "local"\nassistant_root = "assistant"\n[telegram]\nbot_token = "{TOKEN}"\n{sentry}'
    )
    (home / "config.toml").chmod(0o600)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", _PREPARE + code, TOKEN, TEXT],
        env={**os.environ, "PUSH_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# -- logs ------------------------------------------------------------------------------------------------------------


def test_an_entry_is_one_private_line_with_time_level_role_and_logger(home: Path) -> None:
    done = run(home, 'log.info("turn %d began", 7); log.debug("not shown")')
    assert (done.returncode, done.stderr) == (0, "")
    file = home / "logs" / "consumer.log"
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO consumer\[\d+\] push\.tasks\.turns: turn 7 began\n"
    assert re.fullmatch(pattern, file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_warnings_go_to_standard_error_too_but_for_a_terminal_that_talks(home: Path) -> None:
    code = 'log.info("calm"); log.warning("careful")'
    assert "careful" in run(home, code).stderr
    assert "calm" not in run(home, code).stderr
    quiet = run(home, 'telemetry.configure(config.load(), "chat")\n' + code)
    assert quiet.stderr == ""
    assert "careful" in (home / "logs" / "chat.log").read_text()


def test_push_debug_lowers_the_level(home: Path) -> None:
    done = run(home, 'log.debug("small"); logging.getLogger("peewee").debug("SELECT 1")', PUSH_DEBUG="1")
    assert "small" in done.stderr
    assert "SELECT" not in done.stderr + (home / "logs" / "consumer.log").read_text()


def test_c60_no_log_holds_a_secret_whatever_a_library_says(home: Path) -> None:
    done = run(
        home,
        """
import httpx
url = f"http://127.0.0.1:9/bot{TOKEN}/getUpdates"
logging.getLogger("httpx").setLevel(logging.INFO)
telemetry.configure(config.load(), "consumer")
try:
    httpx.get(url)
except httpx.HTTPError:
    log.exception("cannot reach %s", url)
try:
    raise ValueError(f"a bad address: {url}")
except ValueError as exc:
    log.warning(exc, exc_info=True)
logging.getLogger("httpx").info("HTTP Request: GET %s", url)
log.error("%s and %s", TOKEN)
def dies():
    raise RuntimeError(url)
thread = threading.Thread(target=dies); thread.start(); thread.join()
""",
    )
    assert done.returncode == 0
    written = (home / "logs" / "consumer.log").read_text()
    for text in (written, done.stderr, done.stdout):
        assert TOKEN not in text
        assert "8012345678" not in text
    assert written.count("[redacted]") >= 4
    assert "a thread ended" in written
    assert "cannot be formatted" in written
    assert "HTTP Request" not in written


def test_an_entry_steers_no_terminal_and_forges_no_other_entry(home: Path) -> None:
    done = run(
        home,
        """
log.warning("a\\x1b[2J\\x9b\\r\\n2026-01-01T00:00:00.000Z ERROR forged")
try:
    raise ValueError("x\\n2026-01-01T00:00:00.000Z ERROR forged\\x1b]0;t\\x07")
except ValueError:
    log.exception("failed")
log.info("z" * 1_000_000)
""",
    )
    written = (home / "logs" / "consumer.log").read_text()
    for text in (written, done.stderr):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        assert not re.search(r"^2026-01-01", text, re.MULTILINE)
    assert max(map(len, written.splitlines())) <= 64 * 1024


def test_a_log_that_cannot_be_written_stops_nobody(home: Path) -> None:
    (home / "logs").write_text("a file where the folder should be")
    done = run(home, 'log.info("into the void"); print("went on")')
    assert (done.returncode, done.stdout) == (0, "went on\n")


def test_logs_rotate(home: Path) -> None:
    run(home, 'for n in range(400): log.info("%d %s", n, "y" * 60_000)')
    assert sorted(path.name for path in (home / "logs").iterdir()) == [
        "consumer.log",
        "consumer.log.1",
        "consumer.log.2",
    ]


def test_configuring_twice_writes_once(home: Path) -> None:
    run(home, 'telemetry.configure(config.load(), "consumer"); log.info("one")')
    assert (home / "logs" / "consumer.log").read_text().count("one") == 1


# -- Sentry ----------------------------------------------------------------------------------------------------------


class Sentry:
    """A loopback server that keeps the envelopes it gets."""

    def __init__(self) -> None:
        self.envelopes: list[str] = []
        self.paths: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                outer.envelopes.append(body.decode())
                outer.paths.add(self.path)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.dsn = f"http://0123456789abcdef@127.0.0.1:{self.server.server_address[1]}/1"

    def items(self) -> list[dict[str, Any]]:
        found = []
        for envelope in self.envelopes:
            _, *rest = envelope.splitlines()
            for header, payload in zip(rest[::2], rest[1::2], strict=False):
                found.append({"item": json.loads(header)["type"], **json.loads(payload)})
        return found

    def events(self) -> list[dict[str, Any]]:
        return [item for item in self.items() if item["item"] == "event"]


@pytest.fixture
def sentry() -> Iterator[Sentry]:
    server = Sentry()
    thread = threading.Thread(target=server.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.server.shutdown()
    thread.join()
    server.server.server_close()


_BREAK = """
import httpx, os, huey
from push.errors import Failed
message = TEXT
headers = {"authorization": TOKEN}
def deep(text, secret):
    local_text, local_secret = text, secret
    raise KeyError(text, secret)
log.info("taken in: %s", TEXT)
logging.getLogger("other").warning(f"{TEXT} {TOKEN}")
log.warning(ValueError(TEXT))
try:
    try:
        deep(message, TOKEN)
    except KeyError as exc:
        raise ValueError(f"bad text: {TEXT} with {TOKEN}") from exc
except ValueError:
    log.exception("turn %s failed with %s", TEXT, TOKEN, extra={"reply": TEXT})
log.error(ValueError(TEXT))
logging.getLogger("other").error(f"{TEXT}")
try:
    open(f"/nowhere/{TEXT}")
except OSError:
    log.exception("no file")
try:
    raise TemporaryError(f"cannot reach /bot{TOKEN}/getMe")
except TemporaryError:
    log.exception("temporary")
def dies(text):
    raise RuntimeError(text)
thread = threading.Thread(target=dies, args=(TEXT,)); thread.start(); thread.join()
lane = huey.MemoryHuey(results=False)
@lane.task()
def work(text):
    raise LookupError(text)
work(TEXT)
lane.execute(lane.dequeue())
raise ZeroDivisionError(TEXT)
"""


@pytest.mark.parametrize("traces", ["", "traces_sample_rate = 1.0"])
def test_c60_no_secret_and_no_message_text_leaves_in_an_event(home: Path, sentry: Sentry, traces: str) -> None:
    done = run(home, _BREAK, dsn=f'{sentry.dsn}"\n{traces}\n#"', SENTRY_SPOTLIGHT=sentry.dsn.replace("/1", "/stream"))
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"ZeroDivisionError: {TEXT}")  # it came to the end as planned

    assert sentry.paths == {"/api/1/envelope/"}
    everything = "".join(sentry.envelopes)
    for part in (TEXT, "old mill", TOKEN, "8012345678", "AAF-x", str(home), os.uname().nodename):
        assert part not in everything

    events = sentry.events()
    exceptions = [value for event in events for value in event.get("exception", {}).get("values", [])]
    assert {value["type"] for value in exceptions} == {
        "KeyError",
        "ValueError",
        "FileNotFoundError",
        "TemporaryError",
        "RuntimeError",
        "LookupError",
        "ZeroDivisionError",
    }
    said = {value["type"]: value["value"] for value in exceptions}
    assert said["ValueError"] == said["KeyError"] == "[cut]"
    assert said["FileNotFoundError"] == "[Errno 2] No such file or directory"
    assert said["TemporaryError"] == "cannot reach /bot[redacted]/getMe"
    assert any(frame["function"] == "deep" for value in exceptions for frame in value["stacktrace"]["frames"])
    templates = {event["logentry"]["message"] for event in events if "logentry" in event}
    assert templates == {"turn %s failed with %s", "no file", "temporary", "[cut]"}
    crumbs = {crumb["message"] for event in events for crumb in event.get("breadcrumbs", {}).get("values", [])}
    assert crumbs >= {"taken in: %s", "[cut]"}
    assert all(event["tags"]["role"] == "consumer" for event in events)
    assert any("huey_task_id" in event["tags"] for event in events)
    assert all(event["release"].startswith("push@") for event in events)
    assert ("transaction" in {item["item"] for item in sentry.items()}) == bool(traces)


def test_without_a_dsn_sentry_is_not_even_imported_and_nothing_connects(home: Path) -> None:
    done = run(
        home,
        """
connects = []
sys.addaudithook(lambda event, args: connects.append(args) if event == "socket.connect" else None)
log.error("an error")
print("sentry_sdk" in sys.modules, connects)
""",
        SENTRY_ENVIRONMENT="x",
    )
    assert done.stdout == "False []\n"


def test_a_sentry_that_does_not_answer_stops_nobody(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        dsn = f"http://0123456789abcdef@127.0.0.1:{mute.getsockname()[1]}/1"
        done = run(home, 'log.error("an error"); print("went on")', dsn=dsn)
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert len(done.stderr.splitlines()) == 1  # our own entry
