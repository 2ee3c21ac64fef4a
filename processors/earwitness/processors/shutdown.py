"""What is left is sent before a SIGTERM ends the process, for applications that ask for it.

The handler neither blocks the bot nor swallows the signal: a thread flushes, for a stated time at most, and then the
handler that was there before has its turn.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

from earwitness.processors.writer import flush_all

Handler = Callable[[int, FrameType | None], object] | int | None


def flush_on_sigterm(timeout_s: float = 2.0) -> None:
    """Flush all writers at SIGTERM, then do what SIGTERM did before. Call it in the main thread, once.

    A second SIGTERM does not wait for the flush of the first. An asyncio handler (``loop.add_signal_handler``) is told
    of the signal by asyncio itself, at once; it needs no chaining, and gets none. Raises ValueError outside the main
    thread.
    """
    if isinstance(getattr(signal.getsignal(signal.SIGTERM), "__self__", None), _FlushThenChain):
        return
    flushing = _FlushThenChain(timeout_s, signal.getsignal(signal.SIGTERM))
    signal.signal(signal.SIGTERM, flushing.handle)


class _FlushThenChain:
    def __init__(self, timeout_s: float, before: Handler) -> None:
        self._timeout_s = timeout_s
        self._before = before
        self._began = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        if not self._began:
            self._began = True
            # In a thread of its own: the main thread may be inside the writer's lock at this very moment.
            threading.Thread(target=self._flush, args=(number,), name="earwitness-sigterm", daemon=True).start()
        else:
            self._chain(number, frame)

    def _flush(self, number: int) -> None:
        try:
            flush_all(self._timeout_s)
        finally:
            if not _is_asyncios(self._before):
                os.kill(os.getpid(), number)

    def _chain(self, number: int, frame: FrameType | None) -> None:
        if callable(self._before):
            self._before(number, frame)
        elif self._before != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def _is_asyncios(handler: Handler) -> bool:
    return str(getattr(handler, "__module__", "")).split(".")[0] == "asyncio"
