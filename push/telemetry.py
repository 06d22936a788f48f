"""What a process says about itself: rotating logs, and error reports to Sentry where the owner gave a DSN.

Owns the configuration of logging and of Sentry, and what leaves through them; does not own what is logged. Nobody logs
message text; a secret is replaced wherever it appears. A Sentry event, which leaves the machine, is built from what is
known to be harmless: templates of our own log lines, names, stack frames without variables.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from push import __version__, clock, environ
from push.appendlog import AppendFile
from push.config.settings import Settings
from push.errors import TemporaryError
from push.redaction import Redaction

if TYPE_CHECKING:
    from sentry_sdk._types import Breadcrumb, BreadcrumbHint, Event, Hint

MAX_ENTRY = 64 * 1024  # characters of one log entry, with its traceback

#: A terminal talks to a person: the log file alone gets what would interrupt the conversation.
_WITHOUT_STDERR = frozenset({"chat"})
#: Below WARNING they tell of every request, task or statement: addresses with tokens, rows with text.
_TALKATIVE = ("asyncio", "httpcore", "httpx", "huey", "peewee", "sentry_sdk", "urllib3")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")

_FLUSH_SECONDS = 1.0  # for what an earlier client has not sent yet
_CUT = "[cut]"
_EVENT_KEYS = frozenset(
    {
        *("event_id", "timestamp", "start_timestamp", "type", "level", "logger", "platform", "release", "environment"),
        *("sdk", "tags", "transaction", "transaction_info", "spans"),
    }
)
_FRAME_KEYS = frozenset(
    {"filename", "function", "module", "lineno", "in_app", "context_line", "pre_context", "post_context"}
)
_CRUMB_KEYS = frozenset({"type", "category", "level", "timestamp"})
_OUR_LOGGERS = ("push", "huey")  # their templates hold no values
_ERRNO = re.compile(r"\[Errno -?[0-9]+\] [A-Za-z ,()'/-]{1,80}")

_log = logging.getLogger(__name__)


def configure(settings: Settings, role: str) -> None:
    """Send this process's log to `logs/<role>.log`, to standard error from WARNING on, and errors to Sentry.

    `PUSH_DEBUG` in the environment lowers the level to DEBUG. Calling it again replaces what it did before.
    """
    redaction = Redaction(settings.secret_values())
    level = logging.DEBUG if environ.get("PUSH_DEBUG") else logging.INFO
    formatter = _Entry(role, redaction)
    handlers: list[logging.Handler] = [_FileHandler(AppendFile(settings.home.logs / f"{role}.log"))]
    if role not in _WITHOUT_STDERR:
        handlers.append(_StderrHandler(logging.WARNING if level > logging.DEBUG else level))
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, _FileHandler | _StderrHandler)]:
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    root.setLevel(level)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # it prints a failed record's arguments to standard error
    threading.excepthook = _log_end_of_thread
    if "sentry_sdk" in sys.modules:
        sys.modules["sentry_sdk"].get_client().close(timeout=_FLUSH_SECONDS)
    if settings.sentry.dsn is not None:
        _start_sentry(settings, role, redaction)


def _log_end_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        name = args.thread.name if args.thread else "?"
        _log.critical("a thread ended (%s)", name, exc_info=args.exc_value)


# -- logs ------------------------------------------------------------------------------------------------------------


class _Entry(logging.Formatter):
    """One line, and the traceback's; without secrets, and without characters that steer a terminal."""

    def __init__(self, role: str, redaction: Redaction) -> None:
        super().__init__()
        self._role = role
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        text = self._clean(record.getMessage()).replace("\n", "\\n")
        head = (
            f"{clock.iso(int(record.created * 1000))} {record.levelname} {self._role}[{record.process}] {record.name}"
        )
        if record.exc_info:
            text += self._clean("\n" + self.formatException(record.exc_info)).replace("\n", "\n    ")
        return f"{head}: {text}"[:MAX_ENTRY]

    def _clean(self, text: str) -> str:
        return _CONTROLS.sub(lambda match: repr(match[0])[1:-1], self._redaction.text(text))


def instant(line: str) -> int | None:
    """When a log entry was written (milliseconds since 1970), of its first line; None for any other line."""
    try:
        return clock.from_iso(line.partition(" ")[0])
    except ValueError:
        return None


class _FileHandler(logging.Handler):
    def __init__(self, file: AppendFile) -> None:
        super().__init__()
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001  a log call with wrong arguments stops nobody, and its arguments are not shown
            text = f"{record.name}:{record.lineno}: a log entry that cannot be formatted"
        with suppress(OSError, TemporaryError):  # a full disk stops nobody, and this is where it would be said
            self._file.write(text)

    def close(self) -> None:
        self._file.close()
        super().close()


class _StderrHandler(logging.StreamHandler[Any]):
    def __init__(self, level: int) -> None:
        super().__init__(sys.stderr)
        self.setLevel(level)


# -- Sentry ----------------------------------------------------------------------------------------------------------


def _start_sentry(settings: Settings, role: str, redaction: Redaction) -> None:
    import sentry_sdk
    from sentry_sdk.integrations.atexit import AtexitIntegration
    from sentry_sdk.integrations.dedupe import DedupeIntegration
    from sentry_sdk.integrations.excepthook import ExcepthookIntegration
    from sentry_sdk.integrations.huey import HueyIntegration
    from sentry_sdk.integrations.logging import LoggingIntegration
    from sentry_sdk.integrations.threading import ThreadingIntegration

    assert settings.sentry.dsn is not None

    def before_send(event: Event, hint: Hint) -> Event:
        scrubbed: Any = redaction.value(_harmless(event, hint.get("log_record")))
        return scrubbed  # type: ignore[no-any-return]

    def before_breadcrumb(crumb: Breadcrumb, hint: BreadcrumbHint) -> Breadcrumb:
        return _harmless_crumb(crumb, hint.get("log_record"))

    sentry_sdk.init(
        dsn=settings.sentry.dsn.get_secret_value(),
        environment=settings.sentry.environment,
        release=f"push@{__version__}",
        traces_sample_rate=settings.sentry.traces_sample_rate or None,
        # Chosen by hand: the rest would send the command line, the modules, every request and every statement.
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[
            AtexitIntegration(callback=lambda _pending, _timeout: None),
            DedupeIntegration(),
            ExcepthookIntegration(),
            HueyIntegration(),
            LoggingIntegration(level=logging.INFO, event_level=logging.ERROR, sentry_logs_level=None),
            ThreadingIntegration(),
        ],
        include_local_variables=False,
        max_request_body_size="never",
        auto_session_tracking=False,
        send_client_reports=False,
        spotlight=False,
        before_send=before_send,
        before_send_transaction=before_send,
        before_breadcrumb=before_breadcrumb,
    )
    sentry_sdk.set_tag("role", role)


def _harmless(event: Mapping[str, Any], record: logging.LogRecord | None) -> dict[str, Any]:
    """What of an event may leave the machine; whatever is not named here stays."""
    kept = _only(event, _EVENT_KEYS)
    kept["contexts"] = _only(event.get("contexts") or {}, {"trace", "runtime"})
    if "exception" in event:
        kept["exception"] = {"values": [_harmless_exception(item) for item in event["exception"].get("values") or []]}
    if "logentry" in event:
        kept["logentry"] = {"message": _template(record)}
    if "breadcrumbs" in event:
        kept["breadcrumbs"] = event["breadcrumbs"]  # `_harmless_crumb` made each of them
    return kept


def _harmless_exception(item: Mapping[str, Any]) -> dict[str, Any]:
    kept = _only(item, {"type", "module", "mechanism", "thread_id"})
    value = str(item.get("value") or "")
    if not str(item.get("module") or "").startswith("push."):  # our own messages quote neither text nor secret
        errno = _ERRNO.match(value)
        value = errno[0] if errno else _CUT
    kept["value"] = value
    frames = (item.get("stacktrace") or {}).get("frames") or []
    kept["stacktrace"] = {"frames": [_only(frame, _FRAME_KEYS) for frame in frames]}
    return kept


def _harmless_crumb(crumb: Mapping[str, Any], record: logging.LogRecord | None) -> Breadcrumb:
    return _only(crumb, _CRUMB_KEYS) | {"message": _template(record)}


def _template(record: logging.LogRecord | None) -> str:
    """A log record's message before its values are put in, where that is known to hold none."""
    if record is None or record.name.partition(".")[0] not in _OUR_LOGGERS or not isinstance(record.msg, str):
        return _CUT
    return record.msg


def _only(mapping: Mapping[str, Any], keys: frozenset[str] | set[str]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key in keys}
