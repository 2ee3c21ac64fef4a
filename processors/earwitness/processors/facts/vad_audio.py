"""Where in the caller's audio the pipeline's VAD stands when it says something.

Its frames tell when the audio was looked at, not when it was spoken. The two are the same as long as audio is looked
at when it comes. Behind a blocked event loop it is not: seconds of it are looked at in a moment.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from earwitness.monitor.audio.sample_clock import SampleClock
from earwitness.processors.bursts import Bursts
from earwitness.processors.facts.shared import SECOND
from earwitness.processors.frames import AUDIO_IN, frame_class

_SAYS: Final = tuple(
    kind
    for name in ("VADUserStartedSpeakingFrame", "VADUserStoppedSpeakingFrame")
    if (kind := frame_class(name)) is not None
)
FORCED_NS: Final = SECOND // 2
"""A VAD that says something so long after the last audio does so because there is none."""
_REMEMBERED: Final = 64


class Place(NamedTuple):
    """A moment of the audio whose place in time is not certain yet. ``forced``: said for want of audio."""

    clock: SampleClock
    position: int
    forced: bool

    def at_ns(self) -> int:
        """When its sample was there, by what is known now."""
        return self.clock.at_ns(self.position)

    @property
    def whole(self) -> bool:
        """Whether more audio came since that follows without anything missing: then it was only late."""
        if self.clock.end <= self.position:
            return False
        return self.clock.at_ns(self.position + 1) - self.clock.at_ns(self.position - 1) < FORCED_NS


class VadAudio:
    """Follows what is handed to a VAD. Its handlers run in the pipeline's own tasks: quick, and they never raise."""

    def __init__(self, now_ns: Callable[[], int], fault: Callable[[], None]) -> None:
        self._now_ns = now_ns
        self._fault = fault
        self._bursts = Bursts()
        self._rate_hz = 0
        self._clock = SampleClock(1)
        self._bursting = False
        self._places: OrderedDict[int, Place] = OrderedDict()

    def looked_at(self, _: Any, frame: Any) -> None:
        """The VAD's processor takes a frame up."""
        if not isinstance(frame, AUDIO_IN):
            return
        try:
            audio: Any = frame
            if audio.sample_rate != self._rate_hz:
                self._rate_hz, self._clock = audio.sample_rate, SampleClock(audio.sample_rate)
            samples = len(audio.audio) // (2 * audio.num_channels)
            now_ns = self._now_ns()
            self._clock.arrived(samples, now_ns)
            self._bursting = self._bursts.heard(samples / self._rate_hz, now_ns)
        except Exception:
            self._fault()

    def says(self, _: Any, frame: Any) -> None:
        """The VAD's processor lets a frame go."""
        if not isinstance(frame, _SAYS) or not self._clock.end:
            return
        try:
            last_ns = self._bursts.last_ns
            forced = last_ns is not None and self._now_ns() - last_ns >= FORCED_NS
            if forced or self._bursting:
                self._places[frame.id] = Place(self._clock, self._clock.end, forced)
                if len(self._places) > _REMEMBERED:
                    self._places.popitem(last=False)
        except Exception:
            self._fault()

    def place_of(self, frame: Any) -> Place | None:
        """What the frame speaks of, where that is not the audio that came just before it."""
        return self._places.pop(frame.id, None)

    def settled(self) -> bool:
        """Whether audio is looked at as it comes again."""
        return not self._bursts.on(self._now_ns())
