"""aiokafka as the rest of this package sees it. It ships no types, so this is where they are made up for."""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import aiokafka  # type: ignore[import-untyped, unused-ignore]
from aiokafka import abc, admin, conn, errors  # type: ignore[import-untyped, unused-ignore]
from aiokafka.protocol import admin as requests  # type: ignore[import-untyped, unused-ignore]
from aiokafka.protocol import api, types  # type: ignore[import-untyped, unused-ignore]

kafka: Any = aiokafka
kafka_admin: Any = admin
kafka_errors: Any = errors
kafka_types: Any = types
CreateAcls: Any = requests.CreateAclsRequest
DescribeGroupsResponse: Any = requests.DescribeGroupsResponse_v3
Request: Any = api.Request
RequestStruct: Any = api.RequestStruct
Response: Any = api.Response
Connection: Any = conn.AIOKafkaConnection
KafkaError: type[Exception] = errors.KafkaError
RebalanceListener: type[Any] = abc.ConsumerRebalanceListener
TOO_LARGE: tuple[type[Exception], ...] = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
NO_COORDINATOR_YET: tuple[type[Exception], ...] = (
    errors.GroupCoordinatorNotAvailableError,
    errors.CoordinatorLoadInProgressError,
    errors.NotCoordinatorForGroupError,
)
"""What a cluster answers while it makes its topic of commits (its first group ever) or moves a part of it."""
