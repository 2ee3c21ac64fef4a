"""The observer of a call that is not watched."""

from __future__ import annotations

from typing import Any

from pipecat.observers.base_observer import BaseObserver

from earwitness.processors.backlog import Backlog
from earwitness.processors.frames import FIRST_PUSH_ONLY
from earwitness.processors.queue_gate import QueueGate


class InertObserver(BaseObserver):
    """Does nothing, as cheaply as Pipecat lets it: behind the first frame nothing enters its queue any more."""

    def __init__(self) -> None:
        options = {"observe_every_push": False} if FIRST_PUSH_ONLY else {}
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._looked = False
        self._gate = QueueGate(lambda _: True, lambda _: None)

    async def on_push_frame(self, data: Any) -> None:
        """See ``BaseObserver``: reads where the queue is, and no more."""
        if self._looked:
            return
        self._looked = True
        try:
            backlog = Backlog(self)
            backlog.find(data.source)
            self._gate.put_on(backlog.queue)
        except Exception:
            self._gate.take_off()

    async def cleanup(self) -> None:
        """See ``BaseObserver``: the worker is done."""
        self._gate.take_off()
        base: Any = super()
        await base.cleanup()
