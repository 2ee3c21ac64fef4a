"""Reading from the embedded log, alone or as a member of a group. Made by `EmbeddedLog.reader`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from earwitness.monitor.log import embedded_groups as groups
from earwitness.monitor.log import embedded_records as stored
from earwitness.monitor.log.embedded_file import LogFile
from earwitness.monitor.log.embedded_members import new_member
from earwitness.monitor.log.protocol import Entry, Gap, LogError, LogRefused

if TYPE_CHECKING:
    from earwitness.monitor.log.embedded import EmbeddedLog


class EmbeddedReader:
    """A reader of an `EmbeddedLog`; made by `EmbeddedLog.reader`."""

    def __init__(
        self,
        log: EmbeddedLog,
        topic: str,
        group: str | None,
        start: Mapping[int, int] | str,
        member: str | None = None,
    ) -> None:
        self._log = log
        self._topic = topic
        self._group = group
        self._start = start
        self._member = member or new_member()
        self._tended_ns: int | None = None
        self._positions: dict[int, int] = {}
        self._gaps: list[Gap] = []
        self._changes = 0
        self._hand_over_ns = 0
        self._leaving: frozenset[int] = frozenset()
        self._leaving_since_ns: int | None = None
        self._closed = False

    async def join(self) -> None:
        """Take up the first positions; called once, by the log."""
        if self._group is not None:
            await self._log.work(self._tend)
            return
        self._positions = await self._log.work(self._first_positions)

    def _first_positions(self, file: LogFile) -> dict[int, int]:
        # The topic is looked up each time, since the file may have been replaced by a new one.
        topic = file.topic(self._topic)
        if self._start == "latest":
            return stored.ends_of(file, topic)
        first = stored.starts_of(file, topic)
        if isinstance(self._start, str):
            return first
        return {number: self._start.get(number, at) for number, at in first.items()}

    def _tend(self, file: LogFile) -> None:
        assert self._group is not None
        now_ns = self._log.monotonic_ns()
        session_ns = int(self._log.settings.session_s * 1e9)
        topic = file.topic(self._topic)
        since_ns = self._leaving_since_ns
        # Whoever was told to let go holds nothing.
        hold = self._hand_over_ns > 0 if since_ns is None else bool(self._leaving)
        if since_ns is not None and now_ns - since_ns > self._hand_over_ns:
            hold = False
        owned, self._leaving = groups.tend(
            file, self._group, topic, self._member, now_ns=now_ns, session_ns=session_ns, hold=hold
        )
        self._leaving_since_ns = (now_ns if since_ns is None else since_ns) if self._leaving else None
        lapsed = self._tended_ns is not None and now_ns - self._tended_ns > session_ns
        kept = {} if lapsed else {number: at for number, at in self._positions.items() if number in owned}
        new = any(number not in kept and at is None for number, at in owned.items())
        first = self._first_positions(file) if new else {}
        if self._tended_ns is None or kept.keys() != owned.keys() or owned.keys() != self._positions.keys():
            self._changes += 1
        self._positions = {
            number: kept[number] if number in kept else first[number] if at is None else at
            for number, at in owned.items()
        }
        self._tended_ns = now_ns

    async def poll(self, *, timeout_s: float, max_records: int = 2_000) -> Sequence[Entry]:
        deadline = time.monotonic() + timeout_s
        while True:
            if self._closed:
                raise LogRefused(f"embedded log {self._log.path}: this reader is closed")
            seen = self._log.news_count
            entries, after, gaps = await self._log.work(partial(self._read, max_records))
            # Only now, so that a poll which is cancelled has read nothing. What was read goes to the back, so that no
            # partition starves another.
            for number, at in after.items():
                if self._positions.pop(number, None) is not None:
                    self._positions[number] = at
            self._gaps += gaps
            left = deadline - time.monotonic()
            if entries or left <= 0 or self._leaving:
                return entries
            # A member of a group must go on saying that it lives.
            patience_s = left if self._group is None else min(left, self._log.settings.heartbeat_s)
            await self._log.wait_for_news(seen, patience_s)

    def _read(self, limit: int, file: LogFile) -> tuple[list[Entry], dict[int, int], list[Gap]]:
        if self._group is not None:
            due_ns = int(self._log.settings.heartbeat_s * 1e9)
            if self._tended_ns is None or self._log.monotonic_ns() - self._tended_ns >= due_ns:
                self._tend(file)
        if self._leaving:
            return [], {}, []
        return stored.read(file, file.topic(self._topic), self._positions, limit)

    def take_gaps(self) -> Sequence[Gap]:
        gaps, self._gaps = self._gaps, []
        return gaps

    def positions(self) -> dict[int, int]:
        return dict(sorted(self._positions.items()))

    @property
    def changes(self) -> int:
        return self._changes

    async def seek(self, positions: Mapping[int, int]) -> None:
        self._positions.update({number: at for number, at in positions.items() if number in self._positions})

    async def commit(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        group = self._group
        if group is None:
            raise ValueError("a reader without a group has nothing to commit to")
        mine = {number: at for number, at in positions.items() if number in self._positions}
        return await self._log.work(lambda file: groups.commit(file, group, self._topic, self._member, mine))

    def hand_over(self, within_s: float) -> None:
        self._hand_over_ns = int(min(within_s, self._log.settings.session_s / 3) * 1e9)

    @property
    def leaving(self) -> frozenset[int]:
        return self._leaving

    async def let_go(self) -> None:
        self._leaving, self._changes = frozenset(), self._changes + 1
        await self._log.work(self._tend)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._positions = {}
        self._log.readers.discard(self)
        group = self._group
        if group is not None:
            # Who cannot say good-bye is out when the session ends.
            with suppress(LogError):
                await self._log.work(lambda file: groups.leave(file, group, self._topic, self._member))
