"""What still waits in an observer's queue. Pipecat gives each observer a queue without bound and, at the end of the
call, stops reading it before it is empty: who wants the tail must take it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

DRAIN_MOST: Final = 20_000
"""Things looked at after the end, before the tail is given up as incomplete."""


class Backlog:
    """The queue of one observer, found through any processor of its pipeline."""

    def __init__(self, observer: Any) -> None:
        self._observer = observer
        self._proxies: dict[Any, Any] = {}

    def find(self, processor: Any) -> None:
        """Remember where Pipecat keeps the queues of its observers."""
        setup = getattr(processor, "_setup", None)
        everyone = getattr(setup, "observer", None) or getattr(processor, "_observer", None)
        self._proxies = getattr(everyone, "_proxies", None) or {}

    @property
    def queue(self) -> Any:
        return getattr(self._proxies.get(self._observer), "queue", None)

    def __len__(self) -> int:
        queue = self.queue
        return int(queue.qsize()) if queue is not None else 0

    def drain(self) -> bool:
        """Let the observer see what still waits; False where there was too much of it."""
        queue = self.queue
        if queue is None:
            return True
        for _ in range(DRAIN_MOST):
            try:
                data = queue.get_nowait()
            except asyncio.QueueEmpty:
                return True
            queue.task_done()
            if hasattr(data, "destination"):  # a push; the observer looks at nothing else
                _run_through(self._observer.on_push_frame(data))
        return bool(queue.empty())


def _run_through(step: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that awaits nothing."""
    try:
        step.send(None)
    except StopIteration:
        return
    step.close()
