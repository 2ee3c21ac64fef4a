"""What this user may do on a cluster, asked without doing it.

The rights come with Metadata 8 and DescribeGroups 3 (brokers since 2.3). aiokafka knows Metadata up to 5 and reads the
answer to DescribeGroups 3 as one of 2, so both requests are written down here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from earwitness.monitor.log.kafka_library import (
    DescribeGroupsResponse,
    Request,
    RequestStruct,
    Response,
    kafka_errors,
    kafka_types,
)
from earwitness.monitor.log.rights import Right, Rights

_BITS: Final[dict[Right, int]] = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
_NOT_TOLD: Final = -(2**31)
_REFUSED: Final = frozenset({29, 30})
"""Errors for a topic or a group of which one may not even know."""


class _MetadataResponse(Response):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 8
    SCHEMA = kafka_types.Schema(
        ("throttle_time_ms", kafka_types.Int32),
        (
            "brokers",
            kafka_types.Array(
                ("node_id", kafka_types.Int32),
                ("host", kafka_types.String("utf-8")),
                ("port", kafka_types.Int32),
                ("rack", kafka_types.String("utf-8")),
            ),
        ),
        ("cluster_id", kafka_types.String("utf-8")),
        ("controller_id", kafka_types.Int32),
        (
            "topics",
            kafka_types.Array(
                ("error_code", kafka_types.Int16),
                ("topic", kafka_types.String("utf-8")),
                ("is_internal", kafka_types.Boolean),
                (
                    "partitions",
                    kafka_types.Array(
                        ("error_code", kafka_types.Int16),
                        ("partition", kafka_types.Int32),
                        ("leader", kafka_types.Int32),
                        ("leader_epoch", kafka_types.Int32),
                        ("replicas", kafka_types.Array(kafka_types.Int32)),
                        ("isr", kafka_types.Array(kafka_types.Int32)),
                        ("offline_replicas", kafka_types.Array(kafka_types.Int32)),
                    ),
                ),
                ("authorized_operations", kafka_types.Int32),
            ),
        ),
        ("cluster_authorized_operations", kafka_types.Int32),
    )


class _MetadataStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = kafka_types.Schema(
        ("topics", kafka_types.Array(kafka_types.String("utf-8"))),
        ("allow_auto_topic_creation", kafka_types.Boolean),
        ("include_cluster_authorized_operations", kafka_types.Boolean),
        ("include_topic_authorized_operations", kafka_types.Boolean),
    )


class _Metadata(Request[_MetadataStruct]):  # type: ignore[misc]
    API_KEY = 3

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = list(topics)

    def build(self, request_struct_class: Any) -> Any:
        return request_struct_class(self._topics, False, False, True)


class _GroupsStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 15
    API_VERSION = 3
    RESPONSE_TYPE = DescribeGroupsResponse
    SCHEMA = kafka_types.Schema(
        ("groups", kafka_types.Array(kafka_types.String("utf-8"))),
        ("include_authorized_operations", kafka_types.Boolean),
    )


class _Groups(Request[_GroupsStruct]):  # type: ignore[misc]
    API_KEY = 15

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, request_struct_class: Any) -> Any:
        return request_struct_class([self._group], True)


async def why_unseen(client: Any, topic: str) -> Exception:
    """Why a topic is not among those that the cluster lists: not there, or not ours to see. Raises KafkaError."""
    try:
        answer = await client.send(client.get_random_node(), _Metadata([topic]))
    except (kafka_errors.IncompatibleBrokerVersion, NotImplementedError):
        return _error_of(kafka_errors.UnknownTopicOrPartitionError.errno)
    return _error_of(
        next((found[0] for found in answer.topics if found[0]), kafka_errors.UnknownTopicOrPartitionError.errno)
    )


def _error_of(code: int) -> Exception:
    error: Exception = kafka_errors.for_code(code)()
    return error


async def rights_of(admin: Any, topics: Sequence[str], groups: Sequence[str]) -> Rights | None:
    """None where the broker is too old to tell. Raises KafkaError."""
    try:
        answer = await admin._send_request(_Metadata(topics))
    except (kafka_errors.IncompatibleBrokerVersion, NotImplementedError):
        return None
    found: dict[str, frozenset[Right]] = {}
    for error, topic, _, _, operations in answer.topics:
        if error in _REFUSED:
            found[topic] = frozenset()
        elif not error and operations != _NOT_TOLD:
            found[topic] = _named(operations)
    return Rights(found, {group: await _of_group(admin, group) for group in groups})


async def _of_group(admin: Any, group: str) -> frozenset[Right]:
    try:
        answer = await admin._send_request(_Groups(group), await admin.find_coordinator(group))
    except kafka_errors.GroupAuthorizationFailedError:
        return frozenset()
    ((error, *_, operations),) = answer.groups
    return frozenset() if error in _REFUSED else _named(operations)


def _named(operations: int) -> frozenset[Right]:
    return frozenset(name for name, bit in _BITS.items() if operations >> bit & 1)
