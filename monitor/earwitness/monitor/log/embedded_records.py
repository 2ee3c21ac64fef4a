"""Appending to and reading from the tables of a log file, and forgetting what is too old or too much. Synchronous."""

# ruff: noqa: S608 - the tables' names are made of our own ids

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

from earwitness.monitor.log.embedded_file import LogFile, TopicRow
from earwitness.monitor.log.keys import place_of
from earwitness.monitor.log.protocol import Entry, Gap, Outgoing, entry_of

TOMBSTONE_NS = 24 * 3600 * 10**9
"""How long a tombstone stays, so that readers who are behind learn of it."""


def append(file: LogFile, topic: TopicRow, records: Sequence[Outgoing], now_ns: int) -> None:
    """Append a batch in one transaction. Within a partition the append time never falls, whatever the clock does."""
    count = len(topic.partition_ids)
    by_partition: dict[int, list[Outgoing]] = {}
    for record in records:
        by_partition.setdefault(place_of(record.key, record.partition, count), []).append(record)
    with file.writing():
        for number, batch in by_partition.items():
            id_ = topic.partition_ids[number]
            at, last_ns = file.db.execute("SELECT next_offset, last_ns FROM partitions WHERE id = ?", (id_,)).fetchone()
            append_ns = max(last_ns, now_ns)
            if topic.compacted:
                _append_latest(file, id_, at, batch, append_ns)
            else:
                file.db.executemany(
                    f"INSERT INTO records_{id_} VALUES (?, ?, ?, ?)",
                    [(offset, append_ns, record.key, record.value) for offset, record in enumerate(batch, at)],
                )
            file.db.execute(
                "UPDATE partitions SET next_offset = ?, last_ns = ? WHERE id = ?", (at + len(batch), append_ns, id_)
            )


def _append_latest(file: LogFile, id_: int, at: int, batch: Sequence[Outgoing], append_ns: int) -> None:
    """On a compacted topic every record has its offset, and only the last of each key is kept."""
    latest = {record.key: (offset, record.value) for offset, record in enumerate(batch, at)}
    file.db.executemany(f"DELETE FROM records_{id_} WHERE key = ?", [(key,) for key in latest])
    file.db.executemany(
        f"INSERT INTO records_{id_} VALUES (?, ?, ?, ?)",
        [(offset, append_ns, key, value) for key, (offset, value) in latest.items()],
    )


def read(
    file: LogFile, topic: TopicRow, positions: Mapping[int, int], limit: int
) -> tuple[list[Entry], dict[int, int], list[Gap]]:
    """Up to ``limit`` records from these positions, partition by partition in the mapping's order; the positions
    afterwards; the gaps met."""
    entries: list[Entry] = []
    after: dict[int, int] = {}
    gaps: list[Gap] = []
    with file.reading():
        ends = ends_of(file, topic)
        for number, position in positions.items():
            at = position
            if at == ends[number] or len(entries) == limit:
                continue
            table, name = f"records_{topic.partition_ids[number]}", topic.name
            if at > ends[number]:
                at = _first(file, table, ends[number])
                gaps.append(Gap(name, number, position, at))
            rows = file.db.execute(
                f"SELECT offset, key, value, append_ns FROM {table} WHERE offset >= ? ORDER BY offset LIMIT ?",
                (at, limit - len(entries)),
            ).fetchall()
            first = rows[0][0] if rows else ends[number]
            if first > at and not topic.compacted:
                gaps.append(Gap(name, number, at, first))
            if rows:
                # Column by column: half the price of a record at a time.
                columns = zip(*rows, strict=True)
                entries += map(entry_of, zip(repeat(name), repeat(number), *columns, strict=False))
            after[number] = rows[-1][0] + 1 if rows else ends[number]
    return entries, after, gaps


def ends_of(file: LogFile, topic: TopicRow) -> dict[int, int]:
    rows = file.db.execute("SELECT number, next_offset FROM partitions WHERE topic = ?", (topic.id,))
    return dict(rows.fetchall())


def starts_of(file: LogFile, topic: TopicRow) -> dict[int, int]:
    with file.reading():
        ends = ends_of(file, topic)
        return {number: _first(file, f"records_{topic.partition_ids[number]}", end) for number, end in ends.items()}


def _first(file: LogFile, table: str, end: int) -> int:
    row = file.db.execute(f"SELECT min(offset) FROM {table}").fetchone()
    return end if row[0] is None else int(row[0])


def positions_by_time(file: LogFile, topic: TopicRow, append_ns: int) -> dict[int, int]:
    """By bisection over offsets: append times never fall, so no index is needed."""
    found: dict[int, int] = {}
    with file.reading():
        for number, end in ends_of(file, topic).items():
            table = f"records_{topic.partition_ids[number]}"
            low, high = _first(file, table, end), end
            while low < high:
                middle = (low + high) // 2
                row = file.db.execute(
                    f"SELECT offset, append_ns FROM {table} WHERE offset >= ? ORDER BY offset LIMIT 1", (middle,)
                ).fetchone()
                if row is None or row[1] >= append_ns:
                    high = middle
                else:
                    low = row[0] + 1
            # ``low`` may lie in a hole of a compacted topic.
            row = file.db.execute(f"SELECT min(offset) FROM {table} WHERE offset >= ?", (low,)).fetchone()
            found[number] = end if row[0] is None else row[0]
    return found


def forget(file: LogFile, now_ns: int, *, keep_ns: int, keep_bytes: int, limit: int) -> int:
    """Delete up to about ``limit`` of the oldest records that are over age, or over the file's share of bytes.

    Compacted topics keep the last of each key however old; of them only old tombstones go. Pages that become free are
    used again, so the file stops growing; it does not shrink. Returns how many went.
    """
    gone = 0
    with file.writing():
        oldest: list[tuple[int, int]] = []
        for topic in file.topics().values():
            age_ns = keep_ns if topic.retention_ms is None else topic.retention_ms * 1_000_000
            for id_ in topic.partition_ids:
                if topic.compacted:
                    gone += file.db.execute(
                        f"DELETE FROM records_{id_} WHERE offset IN (SELECT offset FROM records_{id_}"
                        " WHERE value IS NULL AND append_ns < ? LIMIT ?)",
                        (now_ns - TOMBSTONE_NS, limit),
                    ).rowcount
                    continue
                gone += _drop_oldest(file, id_, now_ns - age_ns, limit)
                row = file.db.execute(f"SELECT append_ns FROM records_{id_} ORDER BY offset LIMIT 1").fetchone()
                if row is not None:
                    oldest.append((row[0], id_))
        if oldest and _used_bytes(file) > keep_bytes:
            gone += _drop_oldest(file, min(oldest)[1], None, limit)
    return gone


def _drop_oldest(file: LogFile, id_: int, before_ns: int | None, limit: int) -> int:
    """Delete up to ``limit`` records from the front of a partition, those appended before a moment if one is given."""
    table = f"records_{id_}"
    first = file.db.execute(f"SELECT append_ns FROM {table} ORDER BY offset LIMIT 1").fetchone()
    if first is None or (before_ns is not None and first[0] >= before_ns):
        return 0
    (last,) = file.db.execute(
        f"SELECT max(offset) FROM (SELECT offset, append_ns FROM {table} ORDER BY offset LIMIT ?)"
        " WHERE ? IS NULL OR append_ns < ?",
        (limit, before_ns, before_ns),
    ).fetchone()
    return file.db.execute(f"DELETE FROM {table} WHERE offset <= ?", (last,)).rowcount


def _used_bytes(file: LogFile) -> int:
    pages, free, size = (
        int(file.db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
