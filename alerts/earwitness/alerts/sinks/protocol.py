"""What a sink is."""

from __future__ import annotations

from typing import Protocol

from earwitness.alerts.notification import Notice


class SinkFailed(Exception):
    """A notice could not be handed over. ``again`` says whether trying once more may help. No secret in its text."""

    def __init__(self, what: str, *, again: bool) -> None:
        super().__init__(what)
        self.again = again


class Sink(Protocol):
    """Somewhere that notices go. The same notice may come twice: after a crash, or where an answer was lost."""

    @property
    def name(self) -> str:
        """The same after a restart, so that what is still on its way finds its sink. No secret in it."""
        ...

    @property
    def give_up_after_s(self) -> float:
        """Of waiting between attempts, before a notice that it does not take is given up."""
        ...

    def wants(self, notice: Notice) -> bool: ...

    async def send(self, notice: Notice) -> None:
        """Hand a notice over within a bounded time. Raises SinkFailed."""
        ...

    async def close(self) -> None: ...
