"""What a bot is told, by its environment or in code.

A bot must not come to harm by a slip in its monitor's settings: what is malformed is warned of once, by name, and its
default holds. ``strict`` is for who asks on purpose, such as ``earwitness doctor``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, field_validator

from earwitness.monitor.errors import BadInput
from earwitness.monitor.home import home
from earwitness.monitor.log.url import default_log_url, parse_log_url
from earwitness.processors.personal_data import DEFAULT_REGIONS
from earwitness.processors.text_bound import DEFAULT_TEXT_BYTES

log = logging.getLogger("earwitness.settings")

PREFIX = "EARWITNESS_"
KAFKA_PREFIX = "EARWITNESS_KAFKA__"
BOT_PREFIX = "EARWITNESS_BOT__"
_TOP = frozenset({"log", "agent", "version", "labels", "off", "sample", "taps", "record", "secret", "secret_file"})
MIB = 1024 * 1024


def _pairs(value: object) -> object:
    """``k=v,k=v`` as a mapping."""
    if not isinstance(value, str):
        return value
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        key, equals, inner = part.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{part!r} is no key=value")
        pairs[key.strip()] = inner.strip()
    return pairs


def _list(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class BotSettings(BaseModel):
    """Settings of the hooks in a bot (interfaces, "Places" and "In the bot").

    Variables are ``EARWITNESS_`` + name for what interfaces lists, ``EARWITNESS_BOT__`` + name for the bounds below,
    and ``EARWITNESS_KAFKA__`` + name for what goes to the Kafka client.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=False)

    home: Path
    log: str
    agent: str | None = None
    version: str | None = None
    labels: Annotated[dict[str, str], BeforeValidator(_pairs)] = {}
    off: bool = False
    sample: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of calls that are watched."""
    taps: bool = True
    record: Path | None = None
    """Folder for stereo recordings; None: no recordings."""
    secret: SecretStr | None = None
    secret_file: Path | None = None
    kafka: dict[str, str] = Field(default={}, repr=False)

    regions: Annotated[tuple[str, ...], BeforeValidator(_list)] = DEFAULT_REGIONS
    """Countries whose phone numbers are known without a country code."""
    keep_dtmf: bool = False
    text_bytes: Annotated[int, Field(ge=256)] = DEFAULT_TEXT_BYTES
    """Longest text of one field."""
    events_per_s: Annotated[float, Field(gt=0)] = 50.0
    """Cap of one call."""
    events_burst: Annotated[int, Field(ge=1)] = 250
    buffer_bytes: Annotated[int, Field(ge=64 * 1024)] = 8 * MIB
    spool_bytes: Annotated[int, Field(ge=0)] = 256 * MIB
    linger_s: Annotated[float, Field(ge=0.005, le=5)] = 0.2
    """Longest time that an event waits in memory: what ``kill -9`` may lose."""
    batch_bytes: Annotated[int, Field(ge=4096)] = 256 * 1024
    append_timeout_s: Annotated[float, Field(gt=0)] = 20.0
    """How long a log may take to acknowledge a batch before it is opened anew. Its own timeouts are shorter."""
    call_flush_s: Annotated[float, Field(ge=0, le=30)] = 2.0
    exit_flush_s: Annotated[float, Field(ge=0, le=30)] = 2.0

    @field_validator("log")
    @classmethod
    def _known_log(cls, value: str) -> str:
        try:
            return str(parse_log_url(value))
        except BadInput as error:
            raise ValueError(error.what) from None

    @field_validator("home", "record", "secret_file")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @property
    def secret_bytes(self) -> bytes | None:
        """The site's secret for keyed hashes; None where none is set."""
        text = self.secret.get_secret_value().strip() if self.secret is not None else ""
        return text.encode() or None

    @property
    def spool_folder(self) -> Path:
        return self.home / "spool"

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, strict: bool = False, **overrides: Any) -> Self:
        """Environment under ``overrides``; None in an override means "not given".

        Raises BadInput for what is malformed if ``strict``; else warns, names it, and goes on with the default.
        """
        given = {name: value for name, value in overrides.items() if value is not None}
        where = {name: f"{name}=" for name in given}
        for variable, text in environ.items():
            name = _name(variable)
            if name is not None and name not in given and text.strip():
                given[name] = text.strip()
                where[name] = variable
        if kafka := {
            variable.removeprefix(KAFKA_PREFIX).lower(): text
            for variable, text in environ.items()
            if variable.startswith(KAFKA_PREFIX) and text
        }:
            given["kafka"] = {**kafka, **given.get("kafka", {})}
        problems = _Problems(where, strict)
        _read_secret(given, problems)
        given.setdefault("home", home(environ))
        given.setdefault("log", str(default_log_url({**environ, "EARWITNESS_HOME": str(given["home"])})))
        while True:
            try:
                return cls.model_validate(given)
            except ValidationError as error:
                for detail in error.errors(include_url=False, include_context=False, include_input=False):
                    name = str(detail["loc"][0])
                    unknown = detail["type"] == "extra_forbidden"
                    problems.note(name, "is no setting" if unknown else detail["msg"].removeprefix("Value error, "))
                    if given.pop(name, None) is not None and name in _WHEN_MALFORMED:
                        given[name] = _WHEN_MALFORMED[name]
                given.setdefault("home", home({}))
                given.setdefault("log", str(default_log_url({"EARWITNESS_HOME": str(given["home"])})))


_WHEN_MALFORMED: Mapping[str, object] = {"off": True}
"""Who sets the kill switch to anything at all wants it off."""


class _Problems:
    def __init__(self, where: Mapping[str, str], strict: bool) -> None:
        self._where = where
        self._strict = strict

    def note(self, name: str, what: str) -> None:
        where = self._where.get(name, name)
        if self._strict:
            raise BadInput(what, where=where)
        held = "Earwitness is switched off" if name == "off" else "ignored, the default holds"
        log.warning("%s: %s (%s)", where, what, held)


def _name(variable: str) -> str | None:
    """The field that a variable sets; None where it is none of the bot's."""
    if variable.startswith(BOT_PREFIX):
        name = variable.removeprefix(BOT_PREFIX).lower()
        return f"bot.{name}" if name in _TOP or name in {"home", "kafka"} else name
    name = variable.removeprefix(PREFIX).lower()
    return name if variable.startswith(PREFIX) and name in _TOP else None


def _read_secret(given: dict[str, Any], problems: _Problems) -> None:
    file = given.get("secret_file")
    if "secret" in given or file is None:
        return
    try:
        given["secret"] = Path(str(file)).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        given.pop("secret_file")
        problems.note("secret_file", f"{file} cannot be read ({getattr(error, 'strerror', None) or 'no text'})")
