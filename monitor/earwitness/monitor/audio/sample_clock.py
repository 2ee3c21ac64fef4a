"""When a sample was there, told from the arrival stamps of chunks.

A chunk can be late, never early: while audio is continuous, the least delayed chunk of the last seconds dates all
samples, so that jitter does not move an edge. Where a delay stays, audio was missing: the clock begins anew there. A
burst that makes up for a stall shows itself as such, since its later chunks are in time again.
"""

from __future__ import annotations

from collections import deque

BUCKET_S = 0.1
KEPT_S = 3.0
LASTING_DELAY_NS = 80_000_000
"""A delay beyond this that no later chunk makes up for is missing audio and not jitter."""


class SampleClock:
    """Dates samples of one stream; positions count samples of ``rate_hz`` since the stream's first."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._end = 0
        self._bucket = int(rate_hz * BUCKET_S)
        self._delays: deque[tuple[int, int]] = deque(maxlen=int(KEPT_S / BUCKET_S))
        """(position at the end, least arrival less position in ns) of the last stretches of audio."""

    @property
    def end(self) -> int:
        """Samples so far."""
        return self._end

    def arrived(self, samples: int, arrival_ns: int) -> None:
        """``samples`` more have arrived, the last of them at ``arrival_ns``."""
        last_bucket = (self._end - 1) // self._bucket
        self._end += samples
        delay_ns = arrival_ns - self._end * 1_000_000_000 // self._rate_hz
        if self._delays and last_bucket == (self._end - 1) // self._bucket:
            least = self._delays[-1][1]
            if abs(delay_ns - least) <= LASTING_DELAY_NS:
                self._delays[-1] = (self._end, min(least, delay_ns))
                return
        self._delays.append((self._end, delay_ns))

    def at_ns(self, position: int) -> int:
        """The moment of the sample at ``position``; raises ``ValueError`` before anything has arrived."""
        if not self._delays:
            raise ValueError("no audio has arrived yet")
        lasting: list[int] = []  # the least delay from here on: what is late now but made up for later is jitter
        for _, delay_ns in reversed(self._delays):
            lasting.append(min(delay_ns, lasting[-1]) if lasting else delay_ns)
        lasting.reverse()
        least = self._delays[0][1]
        reached = False
        for (end, delay_ns), lasting_ns in zip(self._delays, lasting, strict=True):
            if lasting_ns > least + LASTING_DELAY_NS:
                if reached:
                    break
                least = delay_ns
            least = min(least, delay_ns)
            reached = reached or position < end
        return position * 1_000_000_000 // self._rate_hz + least
