"""What the service side says of itself, on standard error: JSON for machines, colours for people.

Secrets never come out, at any level; what callers and agents said comes out at debug only.
"""

from __future__ import annotations

import logging
import re
import sys
from contextlib import suppress
from typing import Literal, TextIO, cast

import structlog
from pydantic import SecretBytes, SecretStr
from structlog.typing import EventDict, Processor, WrappedLogger

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "json", "console"]

LEVELS: dict[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
HIDDEN = "***"

_SECRET_KEY = re.compile(r"secret|passw|token|authorization|api_?key|cookie|credential|webhook_?url", re.IGNORECASE)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
_SPOKEN = frozenset(
    {"text", "transcript", "spoken", "unspoken", "intended", "words", "arguments", "result", "utterance"}
)


def configure(*, level: Level = "info", format: Format = "auto", stream: TextIO | None = None) -> None:
    """Set up structlog for this process. ``auto``: a terminal gets colours, anything else JSON, one object a line."""
    out = sys.stderr if stream is None else stream
    readable = format == "console" or (format == "auto" and out.isatty())
    render: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)]
        if readable
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            hide_secrets,
            withhold_speech,
            *render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", _Unharmed(out))),
        cache_logger_on_first_use=False,
    )


def join_standard_logging(name: str) -> None:
    """Have what the hooks say through Python's own logging, under ``name``, come out as everything else does."""
    logger = logging.getLogger(name)
    logger.handlers = [_ToStructlog()]
    logger.setLevel(logging.DEBUG)
    logger.propagate = False


class _ToStructlog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            say = structlog.get_logger(record.name)
            say.log(record.levelno, record.getMessage(), exc_info=record.exc_info or None)
        except Exception:
            self.handleError(record)


class _Unharmed:
    """A stream that may be closed, or lie on a full disk: what cannot be said must not end what is being said of."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            return self._stream.write(text)
        return 0

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


def hide_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Blot out values whose key names a secret, pydantic's secrets, and user names in URLs, nested ones too."""
    return {key: HIDDEN if _names_a_secret(key, value) else _without_secrets(value) for key, value in event.items()}


def withhold_speech(_logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Above debug, replace what was said by its length."""
    if method == "debug":
        return event
    return {
        key: f"<{len(value)} characters>" if key in _SPOKEN and isinstance(value, str) else value
        for key, value in event.items()
    }


def _names_a_secret(key: object, value: object) -> bool:
    return value is not None and not isinstance(value, bool) and _SECRET_KEY.search(str(key)) is not None


def _without_secrets(value: object) -> object:
    if isinstance(value, SecretStr | SecretBytes):
        return HIDDEN
    if isinstance(value, str):
        return _USER_INFO.sub(f"{HIDDEN}@", value)
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {str(k): HIDDEN if _names_a_secret(k, v) else _without_secrets(v) for k, v in pairs}
    if isinstance(value, list | tuple):
        return [_without_secrets(v) for v in cast("list[object]", value)]
    return value
