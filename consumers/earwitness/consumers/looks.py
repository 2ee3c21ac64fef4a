"""Which calls have events that were not judged, and when each of them is to be looked at."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Final

from earwitness.consumers.held_call import HeldCall

S: Final = 1_000_000_000
WAITING_NS: Final = 10 * S
"""How long at most any event waits, on a busy worker, for the next look at its call."""
LAGGING_NS: Final = 60 * S
"""The same for all events of a worker that is behind: what it finds is old in any case, and the more of a call is read
at once the less it costs."""


class Looks:
    """Calls by the arrival of the first event that was not judged, and of the first of those that press."""

    def __init__(self) -> None:
        self.put_off = False
        """Whether the last `due` left for later what somebody waits for."""
        self.place = 0
        """Where among what is read at once the event lies that a call is noted for."""
        self._at_once: dict[str, tuple[int, int, HeldCall]] = {}
        """Calls that began or ended, and when that arrived."""
        self._pressing: deque[tuple[int, int, HeldCall]] = deque()
        self._waiting: deque[tuple[int, int, HeldCall]] = deque()

    def hurry(self, held: HeldCall, arrived_ns: int) -> None:
        """A call began or ended."""
        self._at_once.setdefault(held.call_id, (arrived_ns, self.place, held))

    def wait(self, held: HeldCall, arrived_ns: int) -> None:
        """The first event of a call came that was not judged."""
        held.waits_ns = arrived_ns
        self._waiting.append((arrived_ns, self.place, held))

    def press(self, held: HeldCall, arrived_ns: int) -> None:
        """The first of them came that can change what was published."""
        held.presses_ns = arrived_ns
        self._pressing.append((arrived_ns, self.place, held))

    def hold(self, held: HeldCall) -> None:
        """Take in a call as it was left somewhere else."""
        if held.waits_ns is not None:
            self.wait(held, held.waits_ns)
        if held.presses_ns is not None:
            self.press(held, held.presses_ns)

    def drop(self, held: HeldCall) -> None:
        """Look at a call no more."""
        held.waits_ns = held.presses_ns = None
        self._at_once.pop(held.call_id, None)

    def clear(self) -> None:
        """All are judged."""
        self._pressing.clear()
        self._waiting.clear()
        self._at_once.clear()

    def due(self, newest_ns: int, *, lagging: bool, idle: bool) -> Iterator[HeldCall]:
        """The calls to be judged now, each before the next is asked for; all of them where ``idle``."""
        at_once, self._at_once = self._at_once, {}
        for _, _, held in at_once.values():
            yield held
        pressing_ns, waiting_ns = (LAGGING_NS, LAGGING_NS) if lagging else (0, WAITING_NS)
        while self._pressing and (idle or self._pressing[0][0] + pressing_ns <= newest_ns):
            arrived_ns, _, held = self._pressing.popleft()
            if held.presses_ns == arrived_ns:
                yield held
        self.put_off = lagging and bool(self._pressing)
        while self._waiting and (idle or self._waiting[0][0] + waiting_ns <= newest_ns):
            arrived_ns, _, held = self._waiting.popleft()
            if held.waits_ns == arrived_ns:
                yield held

    @contextmanager
    def in_order_of_places(self) -> Generator[None, None, None]:
        """Calls are noted call by call within this, each at the `place` among what was read of what it is noted for:
        they are put in the order of these."""
        at_once, counts = len(self._at_once), (len(self._waiting), len(self._pressing))
        try:
            yield
        finally:
            self.place = 0
            noted = list(self._at_once.items())
            self._at_once = dict(noted[:at_once] + sorted(noted[at_once:], key=lambda one: one[1][1]))
            for queue, count in zip((self._waiting, self._pressing), counts, strict=True):
                if len(queue) > count + 1:
                    came = [queue.pop() for _ in range(len(queue) - count)]
                    came.sort(key=itemgetter(1))
                    queue.extend(came)
