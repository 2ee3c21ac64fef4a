"""How a log is named: ``sqlite:///abs/path/log.db``, a bare path, or ``kafka://host:9092,host2:9092/prefix?...``.

A URL is printed, logged and kept in histories, so it never carries a secret, and one that does is refused unprinted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from earwitness.monitor.errors import BadInput
from earwitness.monitor.home import home
from earwitness.monitor.log.topics import DEFAULT_PREFIX

KAFKA_PORT = 9092
HARMLESS_OPTIONS = frozenset({"client_id", "request_timeout_ms", "sasl_mechanism", "security_protocol", "ssl_cafile"})
_SECRET = re.compile(r"passw|secret|token|key|user", re.IGNORECASE)
_HOST = re.compile(r"^(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>\d{1,5}))?$")
_PREFIX = re.compile(r"^[A-Za-z0-9._-]{1,200}$")
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_HOST_AND_PORT = re.compile(r"^[A-Za-z0-9.-]+:\d+$")
_FORMS = "write sqlite:///path/log.db, a path, or kafka://host:9092"


@dataclass(frozen=True, slots=True)
class SqliteUrl:
    """The embedded log: one file on this machine."""

    path: Path

    def __str__(self) -> str:
        return f"sqlite://{quote(str(self.path))}"


@dataclass(frozen=True, slots=True)
class KafkaUrl:
    """A Kafka cluster: brokers as ``host:port``, the topics' prefix, options that are no secrets."""

    servers: tuple[str, ...]
    prefix: str = DEFAULT_PREFIX
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        query = f"?{urlencode(self.options)}" if self.options else ""
        return f"kafka://{','.join(self.servers)}/{self.prefix}{query}"


LogUrl = SqliteUrl | KafkaUrl


def default_log_url(environ: Mapping[str, str]) -> SqliteUrl:
    """``log.db`` in the home (interfaces, "Places"), so that a bot and a monitor of one machine meet unasked."""
    return SqliteUrl(home(environ) / "log.db")


def parse_log_url(text: str, *, where: str | None = None) -> LogUrl:
    """What a log's URL or path says. ``where`` names the place it came from (``--log``).

    Raises BadInput; the text never repeats a secret.
    """
    text = text.strip()
    if not text or "\0" in text:
        raise BadInput(f"the log has no name: {_FORMS}", where=where)
    scheme = _SCHEME.match(text)
    if scheme is None:
        if text.lower().startswith(("sqlite:", "kafka:")):
            raise BadInput(f"{text.split(':')[0]}: without //: {_FORMS}", where=where)
        if _HOST_AND_PORT.match(text):
            raise BadInput(f"{text} is no path: for a Kafka broker write kafka://{text}", where=where)
        return SqliteUrl(Path(text).expanduser().absolute())
    rest = text[scheme.end() :]
    match scheme.group(1).lower():
        case "sqlite":
            return _sqlite(rest, where)
        case "kafka":
            return _kafka(rest, where)
        case other:
            raise BadInput(f"{other}:// is no log that Earwitness knows: {_FORMS}", where=where)


def _sqlite(rest: str, where: str | None) -> SqliteUrl:
    if "?" in rest:
        raise BadInput("a sqlite:// URL takes no options: keep only the path", where=where)
    if not rest.startswith("/"):
        raise BadInput(f"sqlite://{rest} is not absolute: write sqlite:///path/log.db, with three slashes", where=where)
    path = Path("/" + unquote(rest).lstrip("/"))
    if path == Path("/"):
        raise BadInput("sqlite:/// names no file: write sqlite:///path/log.db", where=where)
    return SqliteUrl(path)


def _kafka(rest: str, where: str | None) -> KafkaUrl:
    address, _, query = rest.partition("?")
    if "@" in address:
        raise BadInput(
            "a kafka:// URL carries no user or password: set kafka.sasl_username and kafka.sasl_password_file, "
            "or EARWITNESS_KAFKA__SASL_PASSWORD",
            where=where,
        )
    hosts, _, path = address.partition("/")
    prefix = unquote(path).strip("/") or DEFAULT_PREFIX
    if not _PREFIX.match(prefix) or prefix in {".", ".."}:
        raise BadInput(f"{prefix!r} cannot begin a topic's name: use letters, digits, '.', '_' and '-'", where=where)
    return KafkaUrl(tuple(_server(host, where) for host in hosts.split(",")), prefix, _options(query, where))


def _server(text: str, where: str | None) -> str:
    found = _HOST.match(text.strip())
    if found is None:
        raise BadInput(f"{text.strip()!r} is no broker: write kafka://host:9092,host2:9092", where=where)
    port = int(found["port"] or KAFKA_PORT)
    if not 0 < port < 65_536:
        raise BadInput(f"{text.strip()} has no possible port: use 1 to 65535", where=where)
    return f"[{found['six']}]:{port}" if found["six"] else f"{found['name']}:{port}"


def _options(query: str, where: str | None) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in HARMLESS_OPTIONS:
            options[name] = value
        elif _SECRET.search(name):
            raise BadInput(
                f"{name} does not belong into a URL: use kafka.sasl_username, kafka.sasl_password_file",
                where=where,
            )
        else:
            known = ", ".join(sorted(HARMLESS_OPTIONS))
            raise BadInput(f"unknown option {name} in the log's URL; known: {known}", where=where)
    return options
