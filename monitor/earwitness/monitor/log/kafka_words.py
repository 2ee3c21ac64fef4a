"""What an error of a Kafka cluster means to whoever runs this, in one line that says what to do."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime

from earwitness.monitor.log.certificates import expires
from earwitness.monitor.log.kafka_library import TOO_LARGE, Connection, KafkaError, kafka_errors
from earwitness.monitor.log.kafka_settings import KafkaSettings
from earwitness.monitor.log.protocol import LogError, LogRefused, LogUnavailable, RecordTooLarge
from earwitness.monitor.log.rights import Missing, Right

_PASSWORD = "the broker refused user or password; see kafka.sasl_username and kafka.sasl_password"  # noqa: S105
_REFUSALS = {
    "UnknownTopicOrPartitionError": "no topic {topic}; make it with: earwitness topics create",
    "InvalidTopicError": "{topic} cannot be a topic's name; choose another prefix",
    "AuthenticationFailedError": _PASSWORD,
    "SaslAuthenticationFailed": _PASSWORD,
    "UnsupportedSaslMechanismError": "the broker does not offer this kafka.sasl_mechanism",
    "InvalidReplicationFactorError": "fewer brokers than kafka.replication_factor asks for",
    "PolicyViolationError": "the cluster's policy refused the topic {topic}",
}
_NO_RIGHT = frozenset({"TopicAuthorizationFailedError", "ClusterAuthorizationFailedError"})
_CONNECT_WITHIN_S = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of which cluster, as who; ``group`` where a refusal of a group can only mean that one."""

    cluster: str
    user: str | None = None
    topic: str = ""
    right: Right = "Describe"
    group: str = ""


def cluster_name(settings: KafkaSettings) -> str:
    """How a cluster is called in words: ``Kafka host:9092,host2:9092``."""
    return f"Kafka {','.join(settings.servers)}"


def in_words(error: Exception, asked: Asked) -> LogError:
    """A client's error as one of the log's own."""
    if isinstance(error, LogError):
        return error
    kind, name = type(error).__name__, asked.cluster
    if isinstance(error, TOO_LARGE):
        return RecordTooLarge(
            f"{name}: a record for {asked.topic} is over the topic's max.message.bytes; raise that, or cut it"
        )
    if kind == "GroupAuthorizationFailedError":
        return LogRefused(_refused(asked, Missing(asked.user, "Read", asked.group, is_group=True)))
    if kind in _NO_RIGHT and asked.topic:
        # An idempotent producer that may write nowhere is refused by the cluster, before any topic is named.
        return LogRefused(_refused(asked, Missing(asked.user, asked.right, asked.topic)))
    if kind in _NO_RIGHT:
        return LogRefused(f"{name}: not allowed by the cluster; grant this user what its role needs")
    if kind in _REFUSALS:
        return LogRefused(f"{name}: {_REFUSALS[kind].format(topic=asked.topic)}")
    if isinstance(error, TimeoutError):
        return LogUnavailable(f"{name}: no answer in time; is the broker overloaded or stopped?")
    if isinstance(error, (OSError, kafka_errors.KafkaConnectionError, kafka_errors.NodeNotReadyError)):
        return LogUnavailable(f"{name}: not reachable; see that the broker runs and that its address is right")
    return LogUnavailable(f"{name}: {kind} ({str(error) or 'no words given'}); it may pass, else see the broker's log")


def _refused(asked: Asked, missing: Missing) -> str:
    return f"{asked.cluster}: {missing.says}; grant it: {missing.grant}"


async def why_unreachable(settings: KafkaSettings) -> LogError:
    """Connect once more, by hand, to each server: a refusal if there is one, else the first reason."""
    reasons = [await _why(settings, server) for server in settings.servers]
    refusals = [reason for reason in reasons if isinstance(reason, LogRefused)]
    return (refusals or reasons)[0]


async def _why(settings: KafkaSettings, server: str) -> LogError:
    name = cluster_name(settings)
    host, _, port = server.rpartition(":")
    kwargs = {k: v for k, v in settings.client().items() if k not in {"bootstrap_servers", "metadata_max_age_ms"}}
    connection = Connection(host.strip("[]"), int(port), **kwargs)
    try:
        async with asyncio.timeout(_CONNECT_WITHIN_S):
            await connection.connect()
    except ssl.SSLCertVerificationError as error:
        return LogRefused(f"{name}: {_certificate(error, server)}")
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or "") and "CERTIFICATE" in error.reason:
            return LogRefused(f"{name}: {_own_certificate(settings, server)}")
        return LogRefused(f"{name}: {server} does not speak TLS as asked; see kafka.security_protocol")
    except TimeoutError:
        return LogUnavailable(f"{name}: {server} does not answer; is it stopped, or behind a firewall?")
    except (KafkaError, OSError) as error:
        if type(error).__name__ in _REFUSALS:
            return in_words(error, Asked(name))
        # What TLS 1.3 has against our certificate comes when we believe that we are connected.
        if "CERTIFICATE" in (getattr(error.__cause__, "reason", None) or ""):
            return LogRefused(f"{name}: {_own_certificate(settings, server)}")
        number = error.errno if isinstance(error, OSError) else None
        if number is None or isinstance(error, (ConnectionResetError, BrokenPipeError)):
            return LogUnavailable(f"{name}: {server} hung up; see that its listener speaks our kafka.security_protocol")
        reason = os.strerror(number) if number > 0 else str(error).partition("] ")[2]
        return LogUnavailable(f"{name}: cannot connect to {server} ({reason}); see that the broker runs")
    finally:
        # aiokafka closes what failed without waiting for it; TLS takes a moment to say good-bye.
        closing = connection.close()
        if connection._protocol is not None:
            await asyncio.wait([closing], timeout=0.5)
    return LogUnavailable(
        f"{name}: {server} lets us connect and then does not answer; see that kafka.security_protocol is its "
        "listener's, and that the addresses it advertises are reachable from here"
    )


_EXPIRED, _NOT_YET_VALID, _HOST_MISMATCH = 10, 9, frozenset({62, 64})
"""OpenSSL's numbers for what is wrong with a certificate."""


def _certificate(error: ssl.SSLCertVerificationError, server: str) -> str:
    code = getattr(error, "verify_code", None)
    if code == _EXPIRED:
        return f"{server} shows a certificate that has expired; renew it on the broker, or see this machine's clock"
    if code == _NOT_YET_VALID:
        return f"{server} shows a certificate that is not valid yet; see this machine's clock"
    if code in _HOST_MISMATCH:
        return f"{server} shows a certificate for another address; name the broker as its certificate does"
    return f"{server} shows a certificate that is not trusted ({error.verify_message}); see kafka.ssl_cafile"


def _own_certificate(settings: KafkaSettings, server: str) -> str:
    """What a broker may have against the certificate that we show, or do not show."""
    own = settings.ssl_certfile
    if own is None:
        return f"{server} wants a certificate of ours; set kafka.ssl_certfile and kafka.ssl_keyfile"
    until = expires(own)
    if until is not None and until < datetime.now(UTC):
        return f"{server} refused our certificate {own}, which expired on {until:%Y-%m-%d}; renew kafka.ssl_certfile"
    return f"{server} refused our certificate {own}; see that it trusts who signed kafka.ssl_certfile"
