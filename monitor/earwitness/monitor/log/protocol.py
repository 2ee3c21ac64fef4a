"""What Earwitness needs of a log, and nothing else. Both implementations pass one test suite.

A topic has partitions; a record lies at an offset of a partition and keeps the moment at which the log took it
(``append_ns``, the log's own clock). Records of one key lie in one partition, in the order of their appending.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from earwitness.monitor.named_tuples import maker_of


class LogError(Exception):
    """The log refused or did not answer. The text names the log and says what to do."""


class LogUnavailable(LogError):
    """Nobody answers: trying again later may help."""


class LogRefused(LogError):
    """The log answered and said no (rights, credentials, size, missing topic): trying again will not help by itself."""


class RecordTooLarge(LogRefused):
    """One record is over the log's limit."""

    unwritten: Sequence[Outgoing] | None = None
    """What the log does not have of what it was given, where some was written before; None: all of it."""


class Outgoing(NamedTuple):
    """A record to append. ``value`` None is a tombstone on a compacted topic. ``partition`` None: the key's own; given
    for what belongs to a partition rather than to a call. A named tuple, since a bot makes one of each event."""

    key: str
    value: bytes | None
    partition: int | None = None


class Entry(NamedTuple):
    """A record as read. ``append_ns`` is the log's own append time on the wall clock, as fine as the log keeps it
    (Kafka: milliseconds). A named tuple, because a reader makes hundreds of thousands a second."""

    topic: str
    partition: int
    offset: int
    key: str
    value: bytes | None
    append_ns: int


entry_of: Final = maker_of(Entry)
outgoing_of: Final = maker_of(Outgoing)


@dataclass(frozen=True, slots=True)
class Gap:
    """Records that were gone before a reader came to them: it stood at ``expected`` and went on at ``resumed``, the
    oldest kept. ``resumed`` below ``expected`` means that the log was cut or made anew, and is read again."""

    topic: str
    partition: int
    expected: int
    resumed: int

    @property
    def lost(self) -> int:
        """How many records were skipped."""
        return max(0, self.resumed - self.expected)


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic as it is. ``append_time`` says whether the log, not the writer, dates its records."""

    name: str
    partitions: int
    compacted: bool
    append_time: bool
    retention_ms: int | None


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic as it should be."""

    name: str
    partitions: int
    compacted: bool = False
    retention_ms: int | None = None


class Reader(Protocol):
    """A position in a topic that moves forward. With a group it shares partitions with the group's other members
    and starts at what the group has committed; without one it owns all partitions."""

    async def poll(self, *, timeout_s: float, max_records: int = 2_000) -> Sequence[Entry]:
        """Up to ``max_records`` further records, partition by partition in order; empty after ``timeout_s``.

        A group's reader must be polled at least every few seconds, or the group takes its partitions away (from
        ``positions`` too). Where the next record is no longer kept, it goes on at the oldest kept: see ``take_gaps``.
        Raises LogError; the reader may be polled again afterwards.
        """
        ...

    def take_gaps(self) -> Sequence[Gap]:
        """The gaps met since the last call of this, oldest first."""
        ...

    def positions(self) -> dict[int, int]:
        """Next offset to be read of each partition that this reader owns now."""
        ...

    @property
    def changes(self) -> int:
        """How often partitions were given to this reader or taken from it: where the number is another than before,
        somebody else may have owned meanwhile what is in ``positions`` before and after."""
        ...

    async def seek(self, positions: Mapping[int, int]) -> None:
        """Go on from these offsets in partitions that this reader owns; others are left out. Raises LogError."""
        ...

    async def commit(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        """Remember, for the group, the next offsets to read, and return those that were remembered: partitions that
        are no longer this reader's own are left out, so a late commit never moves another member's position.

        Raises LogError; a reader without a group raises ValueError.
        """
        ...

    def hand_over(self, within_s: float) -> None:
        """From now on, name partitions that the group is about to take away in `leaving`, and let it have them when
        `let_go` is called or after ``within_s``, or sooner where the group would not wait so long."""
        ...

    @property
    def leaving(self) -> frozenset[int]:
        """Partitions that are still ours and wait for `let_go`. While there are any, a poll brings nothing. Those that
        were lost otherwise (nobody heard of us for a session) never come here."""
        ...

    async def let_go(self) -> None:
        """Nothing more is to be done for what is `leaving`. Even where some of it stays or comes back to this reader,
        `changes` counts up."""
        ...

    async def close(self) -> None:
        """Leave the group, so that others take over at once, and release everything within 5 s."""
        ...


class Log(Protocol):
    """A log, opened. ``url`` names it without secrets."""

    @property
    def url(self) -> str: ...

    @property
    def prefix(self) -> str:
        """What its topics' names begin with (``earwitness``)."""
        ...

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        """Append a batch; on return it is acknowledged. The order within a key is kept. A failed append may have
        been written in part or whole, and is safe to repeat, since readers fold by identity.

        Raises LogUnavailable, LogRefused, RecordTooLarge.
        """
        ...

    async def reader(
        self, topic: str, *, group: str | None = None, start: Mapping[int, int] | str = "earliest"
    ) -> Reader:
        """A reader of a topic. ``start``: offsets by partition, ``earliest`` or ``latest``; with a group it holds only
        where the group has committed nothing. Raises LogError."""
        ...

    async def positions_by_time(self, topic: str, append_ns: int) -> dict[int, int]:
        """For each partition the offset of the first record appended at ``append_ns`` or later, else its end."""
        ...

    async def end_positions(self, topic: str) -> dict[int, int]: ...

    async def start_positions(self, topic: str) -> dict[int, int]:
        """For each partition the offset of the oldest record still kept; its end where nothing is kept."""
        ...

    async def committed(self, group: str, topic: str) -> dict[int, int]:
        """What a group has committed; partitions without a commit are absent."""
        ...

    async def topics(self) -> dict[str, TopicInfo]: ...

    async def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        """Create those that are missing; the names of those created."""
        ...

    async def close(self) -> None:
        """Release everything within 5 s."""
        ...
