"""What somebody may do on a cluster with access control lists, in words, and the commands that grant it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Right = Literal["Read", "Write", "Describe", "DescribeConfigs", "Create"]
"""A right by the name that Kafka's own tools have for it."""

_MAY_NOT: Final[dict[Right, str]] = {
    "Read": "read",
    "Write": "write to",
    "Describe": "look at",
    "DescribeConfigs": "look at the settings of",
    "Create": "create",
}


@dataclass(frozen=True, slots=True)
class Rights:
    """By topic and by group; a topic that is not there is absent, one that may not be looked at has none."""

    topics: Mapping[str, frozenset[Right]] = field(default_factory=dict[str, frozenset[Right]])
    groups: Mapping[str, frozenset[Right]] = field(default_factory=dict[str, frozenset[Right]])


@dataclass(frozen=True, slots=True)
class Missing:
    """One right that a user lacks (None: who is not known by name), on a topic or, with ``is_group``, a group."""

    user: str | None
    right: Right
    resource: str
    is_group: bool = False

    @property
    def says(self) -> str:
        """``user bot may not write to topic earwitness.events``."""
        who = f"user {self.user}" if self.user else "we"
        what = (
            f"use consumer group {self.resource}" if self.is_group else f"{_MAY_NOT[self.right]} topic {self.resource}"
        )
        return f"{who} may not {what}"

    @property
    def grant(self) -> str:
        """The command that mends it; where the cluster is and how one gets in is left to who types it."""
        resource = f"--{'group' if self.is_group else 'topic'} {self.resource}"
        return f"kafka-acls.sh --add --allow-principal User:{self.user or '...'} --operation {self.right} {resource}"
