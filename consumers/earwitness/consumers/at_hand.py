"""Which calls a worker has at hand: those that it looked at last. Of others it keeps bytes until their next look."""

from __future__ import annotations

from itertools import islice

from earwitness.consumers.held_call import HeldCall
from earwitness.monitor.calls.saved import SleepingCall
from earwitness.monitor.calls.timeline import CallTimeline


def at_hand_of(open_calls: int, most: int) -> int:
    """How many of so many open calls stay at hand, where ``most`` may: all of them, or the fewer the more are open."""
    return most if open_calls <= most else most * most // open_calls


class AtHand:
    """The calls at hand. ``most``: so many may be; None: all."""

    def __init__(self, most: int | None) -> None:
        self.open_calls = 1
        """How many calls are open, or one."""
        self._most = most
        self._calls: dict[str, HeldCall] = {}
        """Those first that were looked at longest ago."""

    def wake(self, held: HeldCall) -> None:
        """Have a call at hand that is looked at now, and note that it was looked at last. Raises NotAState."""
        if isinstance(held.timeline, SleepingCall):
            held.timeline = held.timeline.woken()
        self.forget(held)
        self._calls[held.call_id] = held

    def lay_aside(self) -> None:
        """Let no more calls be at hand than is wanted: those go first that were looked at longest ago. Where more are
        open they are looked at in turn, and hardly any is still at hand when its turn comes: the more are open, the
        fewer stay."""
        if self._most is None or len(self._calls) <= (most := at_hand_of(self.open_calls, self._most)):
            return
        for held in list(islice(self._calls.values(), len(self._calls) - most)):
            self._sleep(held)

    def lay_ended_aside(self) -> None:
        """The same of calls that are over: nothing comes of them any more but what somebody learns later."""
        if self._most is not None:
            for held in [held for held in self._calls.values() if not held.open]:
                self._sleep(held)

    def forget(self, held: HeldCall) -> None:
        """The call is held no more, or not by us."""
        self._calls.pop(held.call_id, None)

    def _sleep(self, held: HeldCall) -> None:
        self.forget(held)
        if isinstance(held.timeline, CallTimeline) and not held.broken:
            held.timeline = SleepingCall.of(held.timeline)
