"""How to talk to a Kafka cluster: from settings, environment and URL to what the client takes.

Names are those of the settings file (``kafka.sasl_password_file``); Kafka clients' longer names
(``sasl_plain_password``) are taken too. Secrets come by environment or file and are never shown.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.url import KafkaUrl

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")
_ALIASES = {
    "sasl_plain_username": "sasl_username",
    "sasl_plain_password": "sasl_password",
    "sasl_plain_password_file": "sasl_password_file",
    "ssl_password": "ssl_key_password",
}
_KNOWN = frozenset(
    {"security_protocol", "sasl_mechanism", "sasl_username", "sasl_password", "sasl_password_file"}
    | {"ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_key_password", "ssl_key_password_file", "ssl_check_hostname"}
    | {"client_id", "request_timeout_ms", "session_timeout_ms", "partitions", "replication_factor", "topic_configs"}
)


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """Checked settings of one cluster. ``request_timeout_ms`` bounds one request; an append, with its retries, is given
    one and a half times that. ``topic_configs`` are added to those of every topic made. ``doubt_after_s``: after how
    long a silence a reader asks whether there is something to read."""

    servers: tuple[str, ...]
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    ssl_context: ssl.SSLContext | None = field(default=None, repr=False)
    ssl_certfile: Path | None = None
    """The client's own certificate, which the context has too."""
    client_id: str = "earwitness"
    request_timeout_ms: int = 10_000
    session_timeout_ms: int = 10_000
    metadata_max_age_ms: int = 60_000
    replication_factor: int = -1
    topic_configs: Mapping[str, str] = field(default_factory=dict[str, str])
    doubt_after_s: float = 10.0

    def client(self) -> dict[str, Any]:
        """Arguments that every client of aiokafka takes."""
        return {
            "bootstrap_servers": list(self.servers),
            "client_id": self.client_id,
            "request_timeout_ms": self.request_timeout_ms,
            "metadata_max_age_ms": self.metadata_max_age_ms,
            "security_protocol": self.security_protocol,
            "ssl_context": self.ssl_context,
            "sasl_mechanism": self.sasl_mechanism,
            "sasl_plain_username": self.sasl_username,
            "sasl_plain_password": self.sasl_password,
        }


def kafka_settings(url: KafkaUrl, given: Mapping[str, object]) -> KafkaSettings:
    """Check what was given for a cluster; options of the URL come first. None means not given.

    Raises BadInput, which names the setting and never its value where that may be secret.
    """
    values = {_ALIASES.get(name, name): value for name, value in given.items() if value is not None}
    values |= url.options
    if unknown := sorted(values.keys() - _KNOWN):
        raise BadInput(f"unknown setting; known: {', '.join(sorted(_KNOWN))}", where=f"kafka.{unknown[0]}")
    protocol = _choice(values, "security_protocol", PROTOCOLS)
    mechanism = _choice(values, "sasl_mechanism", MECHANISMS, default="PLAIN")
    if protocol.startswith("SASL_") and mechanism == "GSSAPI" and find_spec("gssapi") is None:
        raise BadInput("GSSAPI needs the package gssapi: pip install gssapi", where="kafka.sasl_mechanism")
    username, password = _secret(values, "sasl_username"), _secret(values, "sasl_password")
    if protocol.startswith("SASL_") and mechanism != "GSSAPI" and (username is None or password is None):
        what = "sasl_username" if username is None else "sasl_password (or sasl_password_file)"
        raise BadInput(f"kafka.security_protocol {protocol} needs kafka.{what}", where="kafka")
    return KafkaSettings(
        servers=url.servers,
        security_protocol=protocol,
        sasl_mechanism=mechanism,
        sasl_username=username,
        sasl_password=password,
        ssl_context=_tls(values) if protocol.endswith("SSL") else None,
        ssl_certfile=_path(values, "ssl_certfile") if protocol.endswith("SSL") else None,
        client_id=str(values.get("client_id", "earwitness")),
        request_timeout_ms=_number(values, "request_timeout_ms", 10_000, at_least=1_000),
        session_timeout_ms=_number(values, "session_timeout_ms", 10_000, at_least=1_000),
        replication_factor=_number(values, "replication_factor", -1, at_least=-1),
        topic_configs=_texts(values.get("topic_configs", {})),
    )


def _choice(values: Mapping[str, object], name: str, choices: tuple[str, ...], default: str | None = None) -> str:
    value = str(values.get(name, default or choices[0])).upper()
    if value not in choices:
        raise BadInput(f"{value} is not possible; one of {', '.join(choices)}", where=f"kafka.{name}")
    return value


def _number(values: Mapping[str, object], name: str, default: int, *, at_least: int) -> int:
    try:
        number = int(str(values.get(name, default)))
    except ValueError:
        raise BadInput(f"{values[name]!r} is no whole number", where=f"kafka.{name}") from None
    if number < at_least:
        raise BadInput(f"{number} is too small; {at_least} or more", where=f"kafka.{name}")
    return number


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise BadInput("must be names with values, as in cleanup.policy: delete", where="kafka.topic_configs")
    return {str(name): str(text) for name, text in cast("Mapping[object, object]", value).items()}


def _secret(values: Mapping[str, object], name: str) -> str | None:
    """The value, or the first line of the file that holds it."""
    value = values.get(name)
    if value is not None:
        return str(_plain(value))
    file = values.get(f"{name}_file")
    if file is None:
        return None
    try:
        return Path(str(file)).expanduser().read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {file}: {_reason(error)}", where=f"kafka.{name}_file") from None


def _plain(value: Any) -> object:
    """Settings may wrap a secret so that it is not shown by mistake."""
    return value.get_secret_value() if hasattr(value, "get_secret_value") else value


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _path(values: Mapping[str, object], name: str) -> Path | None:
    value = values.get(name)
    if value is None:
        return None
    found = Path(str(value)).expanduser()
    if not found.is_file():
        raise BadInput(f"no such file: {found}", where=f"kafka.{name}")
    return found


def _tls(values: Mapping[str, object]) -> ssl.SSLContext:
    cafile, certfile, keyfile = (_path(values, name) for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"))
    try:
        context = ssl.create_default_context(cafile=cafile)
    except (ssl.SSLError, OSError) as error:
        raise BadInput(f"{cafile} holds no PEM certificates: {_reason(error)}", where="kafka.ssl_cafile") from None
    if certfile is not None:
        # A function, so that a key with a forgotten password never asks the terminal for it.
        password = _secret(values, "ssl_key_password")
        try:
            context.load_cert_chain(certfile, keyfile, lambda: password or "")
        except (ssl.SSLError, OSError) as error:
            raise BadInput(f"cannot use {certfile}: {_reason(error)}", where="kafka.ssl_certfile") from None
    elif keyfile is not None:
        raise BadInput("a key needs its certificate: set kafka.ssl_certfile too", where="kafka.ssl_keyfile")
    if str(values.get("ssl_check_hostname", True)).lower() in {"false", "0", "no", "off"}:
        context.check_hostname = False
    return context
