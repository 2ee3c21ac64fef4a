"""A gate before an observer's queue: what the observer does not read does not enter.

Pipecat puts each processing and each push of each frame into a queue of every observer, and each wakes the observer's
task, a turn of the event loop: most of what watching costs. An observer of ours reads no processings, and of most
pushes only that there was one. The gate stands before our own queue alone, and before none that is not as we know it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from pipecat.observers import base_observer as _observers

_PROCESSED: Final = getattr(_observers, "FrameProcessed", None)
_PUSHED: Final = getattr(_observers, "FramePushed", None)


class QueueGate:
    """Put on an observer's queue when a call begins, and taken off at its end.

    ``note`` is given a push while the queue is empty, so that everything before it has been seen: True says that it has
    been taken note of, and need not wait in the queue. It runs in the pipeline's own task, and must be quick. What is
    neither a push nor a processing goes into the queue as ever; so does everything after an exception, which ``fault``
    is told of.
    """

    def __init__(self, note: Callable[[Any], bool], fault: Callable[[Exception], None]) -> None:
        self._note = note
        self._fault = fault
        self._queue: Any = None
        self._put: Any = None
        self._over = False

    def put_on(self, queue: Any) -> None:
        """Stand before this queue, once; not if it may be full, is no plain queue, or somebody else stands there."""
        if self._queue is not None or self._over or not _as_known(queue):
            return
        self._queue, self._put = queue, self._put_for(queue)
        queue.put = self._put

    def _put_for(self, queue: Any) -> Any:
        its_own, empty = queue.put, queue.empty

        async def put(item: Any) -> None:
            if not self._over:
                try:
                    kind = item.__class__
                    if kind is _PROCESSED or (kind is _PUSHED and empty() and self._note(item)):
                        return
                except Exception as error:
                    self._fail(error)
            await its_own(item)

        return put

    def _fail(self, error: Exception) -> None:
        self.take_off()
        with suppress(Exception):
            self._fault(error)

    def take_off(self) -> None:
        """Give the queue its own ``put`` back, for good; whoever has put another over ours reaches it through ours."""
        self._over = True
        queue, self._queue = self._queue, None
        if queue is not None and queue.put is self._put:
            del queue.put
        self._put = None


def _as_known(queue: Any) -> bool:
    return type(queue) is asyncio.Queue and queue.maxsize <= 0 and "put" not in vars(queue)
