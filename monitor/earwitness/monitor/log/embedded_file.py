"""The SQLite file of the embedded log: opening it, its schema, and errors in plain words. Synchronous, one thread.

Each partition is a table of its own, so that appending always happens at the right edge of a tree: pages stay full.
Journal mode is WAL: any number of processes read while one writes. With ``synchronous=NORMAL`` an acknowledged record
survives the death of any process (``kill -9`` too); after a loss of power the last moments since a checkpoint may be
missing, and the file is still sound. ``FULL`` keeps those as well, at a sync of the disk for each append.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from earwitness.monitor.log.protocol import LogError, LogRefused, LogUnavailable, TopicSpec

APPLICATION_ID = 0x45415257
"""``EARW``: tells our files from other programs'."""
SCHEMA_VERSION = 1
DEFAULT_KEEP_S = 8 * 24 * 3600.0
DEFAULT_KEEP_BYTES = 4 * 1024**3
_MAGIC = b"SQLite format 3\0"
_WAL_LIMIT_BYTES = 64 * 1024 * 1024

_SCHEMA = (
    "CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, compacted INTEGER NOT NULL,"
    " retention_ms INTEGER)",
    "CREATE TABLE partitions (id INTEGER PRIMARY KEY, topic INTEGER NOT NULL, number INTEGER NOT NULL,"
    " next_offset INTEGER NOT NULL DEFAULT 0, last_ns INTEGER NOT NULL DEFAULT 0, UNIQUE (topic, number))",
    "CREATE TABLE members (grp TEXT NOT NULL, topic TEXT NOT NULL, member TEXT NOT NULL, seen_ns INTEGER NOT NULL,"
    " PRIMARY KEY (grp, topic, member)) WITHOUT ROWID",
    "CREATE TABLE owners (grp TEXT NOT NULL, topic TEXT NOT NULL, number INTEGER NOT NULL, member TEXT NOT NULL,"
    " PRIMARY KEY (grp, topic, number)) WITHOUT ROWID",
    "CREATE TABLE commits (grp TEXT NOT NULL, topic TEXT NOT NULL, number INTEGER NOT NULL, position INTEGER NOT NULL,"
    " PRIMARY KEY (grp, topic, number)) WITHOUT ROWID",
)


_META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"
"""What all who open the file should agree on. Files from before it get it when they are opened."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How much is kept, whichever bound comes first; None: nothing is said of it."""

    keep_s: float | None = None
    keep_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic as the file has it; ``partition_ids`` by partition number name the tables ``records_<id>``."""

    id: int
    name: str
    compacted: bool
    retention_ms: int | None
    partition_ids: tuple[int, ...]


def in_words(error: sqlite3.Error, path: Path, busy_timeout_s: float) -> LogError:
    """What SQLite's error means to whoever runs this, and what to do."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    name = f"embedded log {path}"
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LogUnavailable(
                f"{name}: another process held it for {busy_timeout_s:g} s; see who with: fuser {path}"
            )
        case sqlite3.SQLITE_FULL:
            return LogUnavailable(f"{name}: the disk is full; free some space, or set retention.bytes lower")
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return LogRefused(
                f"{name}: damaged, or no log; move it away (a new one is made) or name another with --log"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return LogRefused(f"{name}: may not be written; mend the rights of the file and of its folder")
        case sqlite3.SQLITE_CANTOPEN:
            return LogRefused(f"{name}: cannot be opened; see that its folder exists and may be written")
        case sqlite3.SQLITE_INTERRUPT:
            return LogUnavailable(f"{name}: closed while at work")
        case _:
            return LogUnavailable(f"{name}: {error}")


class LogFile:
    """An open log file. Used by one thread only, except `has_news` and `interrupt`."""

    def __init__(self, path: Path, *, busy_timeout_s: float, full_sync: bool = False) -> None:
        """Open the file, making it and its folder where they are missing. Raises LogError."""
        self.path = path
        self.busy_timeout_s = busy_timeout_s
        self._topics: dict[str, TopicRow] = {}
        self._where = _prepare(path)
        try:
            with self.errors():
                self.db = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False)
        except BaseException:
            _release(self._where)
            raise
        try:
            with self.errors():
                self._set_up(full_sync)
                # A connection of its own, which never waits for a lock: the event loop itself may ask it.
                self._watch = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
                self._seen_version = self._version()
        except BaseException:
            self.db.close()
            _release(self._where)
            raise

    def _set_up(self, full_sync: bool) -> None:
        # Before anything is changed: another program's database keeps its ways.
        self._see_whose()
        mode = self._wal()
        if mode != "wal":
            raise LogRefused(f"embedded log {self.path}: this file system cannot share a log; put it on a local disk")
        self.db.execute(f"PRAGMA synchronous={'FULL' if full_sync else 'NORMAL'}")
        self.db.execute(f"PRAGMA journal_size_limit={_WAL_LIMIT_BYTES}")
        with self.writing():
            if not self._see_whose():
                for statement in _SCHEMA:
                    self.db.execute(statement)
                self.db.execute(f"PRAGMA application_id={APPLICATION_ID}")
                self.db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            self.db.execute(_META)

    def _see_whose(self) -> int:
        """How many tables there are. Raises LogRefused unless they are ours."""
        tables = self._number("SELECT count(*) FROM sqlite_master")
        if tables and self._number("PRAGMA application_id") != APPLICATION_ID:
            raise LogRefused(f"embedded log {self.path}: the database of another program; name another with --log")
        if self._number("PRAGMA user_version") > SCHEMA_VERSION:
            raise LogRefused(f"embedded log {self.path}: written by a newer Earwitness; upgrade this one")
        return tables

    def _wal(self) -> str:
        # Of two processes that make a file at once one is told "locked" without waiting, so wait here.
        deadline = time.monotonic() + self.busy_timeout_s
        while True:
            try:
                return str(self.db.execute("PRAGMA journal_mode=WAL").fetchone()[0])
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _number(self, statement: str) -> int:
        return int(self.db.execute(statement).fetchone()[0])

    @contextmanager
    def errors(self) -> Generator[None, None, None]:
        """Turn SQLite's errors into the log's."""
        try:
            yield
        except sqlite3.Error as error:
            raise in_words(error, self.path, self.busy_timeout_s) from error

    @contextmanager
    def writing(self) -> Generator[None, None, None]:
        """One transaction that writes; all of it or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            # A full disk may have rolled it back already.
            with suppress(sqlite3.Error):
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
            raise

    @contextmanager
    def reading(self) -> Generator[None, None, None]:
        """One view of the file for several queries."""
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self.db.execute("COMMIT")

    def is_in_place(self) -> bool:
        """False when somebody removed or replaced the file: what is written now would be seen by nobody."""
        try:
            return self.path.stat().st_ino == self._where.inode
        except OSError:
            return False

    def has_news(self) -> bool:
        """Whether anybody has written, or the file has gone, since this was asked last. Microseconds; never waits."""
        try:
            version = self._version()
        except sqlite3.Error:
            return True  # whoever reads next meets the error and says so
        changed = version != self._seen_version
        self._seen_version = version
        return changed or not self.is_in_place()

    def _version(self) -> int:
        return int(self._watch.execute("PRAGMA data_version").fetchone()[0])

    def topic(self, name: str) -> TopicRow:
        """Raises LogRefused where there is none."""
        found = self._topics.get(name) or self.topics().get(name)
        if found is None:
            raise LogRefused(f"embedded log {self.path}: no topic {name}; make it with: earwitness topics create")
        return found

    def topics(self) -> dict[str, TopicRow]:
        """All topics, read anew. Topics are never removed or changed, so what is known stays true."""
        partitions: dict[int, list[int]] = {}
        for topic, id_ in self.db.execute("SELECT topic, id FROM partitions ORDER BY topic, number"):
            partitions.setdefault(topic, []).append(id_)
        self._topics = {
            name: TopicRow(id_, name, bool(compacted), retention_ms, tuple(partitions[id_]))
            for id_, name, compacted, retention_ms in self.db.execute(
                "SELECT id, name, compacted, retention_ms FROM topics"
            )
        }
        return self._topics

    def create_topics(self, specs: list[TopicSpec]) -> list[str]:
        """Make those that are missing; the names of those made."""
        with self.writing():
            missing = [spec for spec in specs if spec.name not in self.topics()]
            for spec in missing:
                cursor = self.db.execute(
                    "INSERT INTO topics (name, compacted, retention_ms) VALUES (?, ?, ?)",
                    (spec.name, spec.compacted, spec.retention_ms),
                )
                for number in range(spec.partitions):
                    made = self.db.execute(
                        "INSERT INTO partitions (topic, number) VALUES (?, ?)", (cursor.lastrowid, number)
                    )
                    table = f"records_{made.lastrowid}"
                    self.db.execute(
                        f"CREATE TABLE {table}"
                        " (offset INTEGER PRIMARY KEY, append_ns INTEGER NOT NULL, key TEXT NOT NULL, value BLOB)"
                    )
                    if spec.compacted:
                        self.db.execute(f"CREATE INDEX {table}_key ON {table} (key)")
                        self.db.execute(f"CREATE INDEX {table}_gone ON {table} (append_ns) WHERE value IS NULL")
            self.topics()
        return [spec.name for spec in missing]

    def remember(self, kept: Kept) -> None:
        """Write down what is to be kept, for those who open the file without a word on it."""
        told = {"keep_s": kept.keep_s, "keep_bytes": kept.keep_bytes}
        rows = [(name, value) for name, value in told.items() if value is not None]
        if rows:
            with self.writing():
                self.db.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", rows)

    def kept(self, own: Kept) -> tuple[float, int]:
        """Seconds and bytes to keep: the opener's own word, else what the file remembers, else the defaults."""
        told = dict(self.db.execute("SELECT name, value FROM meta WHERE name IN ('keep_s', 'keep_bytes')"))
        keep_s = own.keep_s if own.keep_s is not None else float(told.get("keep_s", DEFAULT_KEEP_S))
        keep_bytes = own.keep_bytes if own.keep_bytes is not None else int(told.get("keep_bytes", DEFAULT_KEEP_BYTES))
        return keep_s, keep_bytes

    def interrupt(self) -> None:
        """Stop a statement that another thread is at; safe from any thread."""
        with suppress(sqlite3.Error):
            self.db.interrupt()

    def close(self) -> None:
        for connection in (self._watch, self.db):
            with suppress(sqlite3.Error):
                connection.close()
        where, self._where = self._where, _Where(0, 0)
        _release(where)


class _Where(NamedTuple):
    device: int
    inode: int


_open_here: Counter[_Where] = Counter()
"""Files that this process has open. Closing any descriptor of a file gives up all locks that the process holds on it,
SQLite's too: another process would then take itself for the last one and delete the journal under our hands."""
_opening = threading.Lock()


def _after_fork() -> None:
    global _opening  # noqa: PLW0603 - another thread may have held it
    _opening = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _prepare(path: Path) -> _Where:
    """See that the file may be one of ours, making it where it is missing; until `_release` it is known to be open."""
    with _opening:
        try:
            found = path.stat()
            where = _Where(found.st_dev, found.st_ino)
        except OSError:
            where = None
        if where is None or not _open_here[where]:
            where = _looked_at(path)
        _open_here[where] += 1
        return where


def _release(where: _Where) -> None:
    with _opening:
        _open_here[where] -= 1
        if _open_here[where] <= 0:
            del _open_here[where]


def _looked_at(path: Path) -> _Where:
    """Make the file for its owner alone, since it holds what callers said; see that it may be one of ours."""
    name = f"embedded log {path}"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_dir():
            raise LogRefused(f"{name}: is a folder; name a file in it")
        # Not blocking: a pipe would be waited for without end.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise LogRefused(f"{name}: is a device or pipe, not a file; name another with --log")
            head = os.read(handle, len(_MAGIC))
            if head and head != _MAGIC:
                raise LogRefused(f"{name}: is no log; move it away (a new one is made) or name another with --log")
            found = os.fstat(handle)
            return _Where(found.st_dev, found.st_ino)
        finally:
            os.close(handle)
    except OSError as error:
        what = error.strerror or str(error)
        raise LogRefused(f"{name}: {what}; mend the rights of its folder or name another with --log") from error
