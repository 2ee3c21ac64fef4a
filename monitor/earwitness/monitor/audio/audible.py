"""When an agent became and ceased to be audible, from the audio that was written for the far end.

Written audio is free of noise, so level alone tells speech from the silence that pads it (field case A02). What matters
is when it plays: a transport takes a chunk early, at its time or late, and the far end plays what it has in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from earwitness.monitor.audio.framing import MOST_CHANNELS, UnsupportedAudio
from earwitness.monitor.audio.resampling import Samples
from earwitness.monitor.audio.voice_activity import Edge

AUDIBLE_DB = -50.0
"""RMS of 10 ms that counts as sound, in dB of full scale."""
HANGOVER_NS = 200_000_000
CLICK_NS = 20_000_000
"""Sound shorter than this makes no segment."""
IDLE_NS = 60_000_000
"""A writer that comes later than this after the chunk before had been waiting for audio."""
STEP_S = 0.01


class PlayoutClock:
    """Dates the written chunks of one stream by the far end's play position.

    A chunk begins to play when its write began, or when the chunk before has played: so audio that is accepted faster
    than real time queues up, and it makes no difference whether a transport returns from a write at once or only when
    the chunk has been played.
    """

    def __init__(self) -> None:
        self._cursor_ns = 0
        self._free_ns: int | None = None
        """Since when the writer could have begun on the next chunk."""
        self._known = False

    @property
    def cursor_ns(self) -> int:
        """The far end has played everything at this moment."""
        return self._cursor_ns

    def write_begins(self, at_ns: int) -> None:
        """The transport says that it is about to write the first chunk of a response."""
        self._free_ns, self._known = at_ns, True

    def written(self, duration_ns: int, accepted_ns: int) -> int:
        """A chunk was accepted at ``accepted_ns``; returns when it begins to play."""
        free_ns = self._free_ns
        if free_ns is not None and (self._known or accepted_ns - free_ns <= duration_ns + IDLE_NS):
            begun_ns = max(free_ns, accepted_ns - duration_ns - IDLE_NS)
        else:  # the writer was idle, nobody said when it went on: a blocking write is what most transports do
            begun_ns = max(accepted_ns - duration_ns, free_ns or 0)
        self._free_ns, self._known = accepted_ns, False
        start_ns = max(begun_ns, self._cursor_ns)
        self._cursor_ns = start_ns + duration_ns
        return start_ns

    def cleared(self, at_ns: int) -> None:
        """The far end was told to throw away what it has not yet played."""
        self._cursor_ns = min(self._cursor_ns, at_ns)


@dataclass(slots=True)
class _Segment:
    start_ns: int
    end_ns: int
    sound_ns: int
    told: bool = False


class AudibleDetector:
    """Segments of sound on dated chunks of 16-bit audio. Raises ``UnsupportedAudio`` where it cannot judge.

    Audio may be fed long before it plays: an edge is told when its moment has come, and what was cut before never is.
    """

    def __init__(self) -> None:
        self._segments: deque[_Segment] = deque()

    @property
    def waiting(self) -> bool:
        """Whether an edge will follow although nothing more is fed."""
        return bool(self._segments)

    def feed(self, pcm: bytes | Samples, rate_hz: int, channels: int, start_ns: int, noticed_ns: int) -> list[Edge]:
        """Edges up to ``noticed_ns``, with a chunk that begins to play at ``start_ns``."""
        for at_ns, until_ns in _sounds(pcm, rate_hz, channels, start_ns):
            last = self._segments[-1] if self._segments else None
            if last is None or at_ns - last.end_ns >= HANGOVER_NS:
                self._segments.append(_Segment(at_ns, until_ns, until_ns - at_ns))
            else:
                last.end_ns = max(last.end_ns, until_ns)
                last.sound_ns += until_ns - at_ns
        return self.advance(noticed_ns)

    def advance(self, to_ns: int) -> list[Edge]:
        """Edges up to now: nothing but what was fed has played."""
        edges: list[Edge] = []
        while self._segments:
            segment = self._segments[0]
            if not segment.told and segment.sound_ns >= CLICK_NS and segment.start_ns <= to_ns:
                segment.told = True
                edges.append(Edge("onset", segment.start_ns, to_ns))
            if to_ns - segment.end_ns < HANGOVER_NS:
                break
            self._segments.popleft()
            if segment.told:
                edges.append(Edge("end", segment.end_ns, to_ns, None, segment.sound_ns))
        return edges

    def cut(self, at_ns: int) -> None:
        """What would have played after ``at_ns`` was thrown away."""
        while self._segments and self._segments[-1].start_ns >= at_ns and not self._segments[-1].told:
            self._segments.pop()
        if self._segments:
            last = self._segments[-1]
            last.end_ns = max(min(last.end_ns, at_ns), last.start_ns)
            last.sound_ns = min(last.sound_ns, last.end_ns - last.start_ns)

    def stop(self, noticed_ns: int) -> list[Edge]:
        """The call is over, and with it all sound."""
        self.cut(noticed_ns)
        edges = self.advance(noticed_ns + HANGOVER_NS)
        self._segments.clear()
        return [replace(edge, noticed_ns=noticed_ns) for edge in edges]


def _sounds(pcm: bytes | Samples, rate_hz: int, channels: int, start_ns: int) -> Iterator[tuple[int, int]]:
    """Stretches of about 10 ms with sound, the tail shorter."""
    if rate_hz < 1 or not 1 <= channels <= MOST_CHANNELS:
        raise UnsupportedAudio(f"{rate_hz} Hz with {channels} channels")
    samples = np.frombuffer(pcm[: len(pcm) - len(pcm) % 2], dtype="<i2") if isinstance(pcm, bytes) else pcm
    step = max(1, int(rate_hz * STEP_S)) * channels
    count = -(-samples.size // step)
    if not count:
        return
    squares = np.square(samples.astype(np.float32))
    sums = np.add.reduceat(squares, np.arange(0, samples.size, step))
    sizes = np.full(count, step)
    sizes[-1] = samples.size - step * (count - 1)
    loud = sums / sizes > 32768.0**2 * 10 ** (AUDIBLE_DB / 10)
    for i in np.flatnonzero(loud).tolist():
        begin = i * step // channels
        end = min((i + 1) * step, samples.size) // channels
        yield start_ns + begin * 1_000_000_000 // rate_hz, start_ns + end * 1_000_000_000 // rate_hz
