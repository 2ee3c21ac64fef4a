"""aiokafka as the rest of this package sees it. It ships no types, so this is where they are made up for."""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import aiokafka  # type: ignore[import-untyped, unused-ignore]
from aiokafka import abc, admin, conn, errors  # type: ignore[import-untyped, unused-ignore]

kafka: Any = aiokafka
kafka_admin: Any = admin
kafka_errors: Any = errors
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
