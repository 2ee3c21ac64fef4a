"""Bursts of audio: what a blocked event loop, or a line that stood still, has kept waiting comes all at once.

Only the end of a burst shows that its beginning was late, and not behind something missing.
"""

from __future__ import annotations

from typing import Final

BEHIND_S: Final = 0.08
"""Audio that comes so much later than it should may be the first of a burst."""
LOOK_S: Final = 0.1
CATCHING_UP: Final = 1.5
"""Seconds of audio in a second: more is a burst that goes on."""
LONGEST_S: Final = 2.0
"""Whatever comes at such a pace for longer is no burst."""


class Bursts:
    """Watches the pace of one party's audio."""

    def __init__(self) -> None:
        self.last_ns: int | None = None
        """When the last audio came."""
        self._on = False
        self._began_ns = self._since_ns = 0
        self._audio_s = 0.0

    def heard(self, duration_s: float, arrival_ns: int) -> bool:
        """Audio came; returns whether it may be part of a burst that is not over."""
        last_ns, self.last_ns = self.last_ns, arrival_ns
        if last_ns is not None and (arrival_ns - last_ns) / 1e9 > duration_s + BEHIND_S:
            if not self._on:
                self._began_ns = arrival_ns
            self._on, self._since_ns, self._audio_s = True, arrival_ns, 0.0
        elif self._on:
            self._audio_s += duration_s
            looked_s = (arrival_ns - self._since_ns) / 1e9
            if looked_s >= LOOK_S:
                long = arrival_ns - self._began_ns > LONGEST_S * 1e9
                self._on = self._audio_s > CATCHING_UP * looked_s and not long
                self._since_ns, self._audio_s = arrival_ns, 0.0
        return self._on

    def on(self, now_ns: int) -> bool:
        """Whether a burst goes on: late audio that nothing follows any more is over."""
        if self._on and self.last_ns is not None and now_ns - self.last_ns >= LOOK_S * 1e9:
            self._on = False
        return self._on

    def end(self) -> None:
        """Take it for over."""
        self._on = False
