"""How loud a line is when nobody speaks: what the energy gate of voice activity rests on."""

from __future__ import annotations

from collections import deque

WINDOW_FRAMES = 300
"""3 s: longer than speech goes without a pause between words."""
LOW_SHARE = 0.1
"""The share of the window's frames taken to be noise, whoever speaks."""
SETTLED_FRAMES = 100
"""A call may begin with speech: in its first second the quietest frame alone is believed."""
PEAK_SHARE = 0.9
RANKED_EVERY_FRAMES = 10
SILENCE_DB = -75.0
"""Below this lines do not differ: coded silence, dither, an idle microphone."""


class NoiseFloor:
    """Follows the level of the quietest frames of the last 3 s, and level and peaks of frames without speech."""

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW_FRAMES)
        self._quiet: deque[float] = deque(maxlen=WINDOW_FRAMES)
        self._noise_power: float | None = None
        self._heard = 0
        self._unranked = 0
        self._low_db = SILENCE_DB
        self.level_db = SILENCE_DB
        """The floor, in dB of full scale."""
        self.peak_db = SILENCE_DB
        """What noise alone stays under nine times out of ten: well over the floor for hum and voices of others."""

    def feed(self, levels_db: list[float], *, in_speech: bool) -> None:
        """Take in frame levels; while somebody speaks the floor falls at once and rises by 3 dB a second at most."""
        self._window.extend(levels_db)
        self._heard += len(levels_db)
        self._unranked += len(levels_db)
        if self._unranked >= RANKED_EVERY_FRAMES or self._heard <= SETTLED_FRAMES:
            self._unranked = 0
            ranked = sorted(self._window)
            self._low_db = max(ranked[int(len(ranked) * LOW_SHARE) if self._heard >= SETTLED_FRAMES else 0], SILENCE_DB)
            ranked = sorted(self._quiet)
            self.peak_db = ranked[int(len(ranked) * PEAK_SHARE)] if len(ranked) >= 20 else SILENCE_DB
        low_db = self._low_db
        self.level_db = min(low_db, self.level_db + 0.03 * len(levels_db)) if in_speech else low_db

    def quiet(self, level_db: float) -> None:
        """A frame in which surely nobody spoke."""
        level_db = max(level_db, SILENCE_DB)
        self._quiet.append(level_db)
        power = 10.0 ** (level_db / 10.0)
        before = power if self._noise_power is None else self._noise_power
        self._noise_power = before + 0.02 * (power - before)

    @property
    def noise_power(self) -> float:
        """Mean power without speech, full scale 1; the floor's own where none was heard yet."""
        return self._noise_power if self._noise_power is not None else 10.0 ** (self.level_db / 10.0)
