"""A stereo recording heard: who was audible when, on either side, in one pass and constant memory.

The agent's side is synthesised speech, so level tells it; the caller's needs voice activity (definitions, "Time and
evidence": measuring point ``recording``). What one side leaks into the other's channel is taken out first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from earwitness.monitor import wording
from earwitness.monitor.audio.agent_ear import AgentEar
from earwitness.monitor.audio.bands import Floats
from earwitness.monitor.audio.caller_ear import ECHO_LEAST_DELAY_S, CallerEar, FrameSpan
from earwitness.monitor.audio.confirming import Confirming, SileroVoice, WebrtcVoice
from earwitness.monitor.audio.echo import LeakFinder
from earwitness.monitor.audio.resampling import Resampler, Samples
from earwitness.monitor.audio.wav import Block, StereoRecording
from earwitness.monitor.calls.heard import HeardCall
from earwitness.monitor.calls.intervals import Span, clip, subtract
from earwitness.monitor.errors import BadInput

VoiceActivity = Literal["accurate", "fast"]
Party = Literal["caller", "agent"]

FILE = "file"
"""The detail that says what is wrong with the file itself: it is cut off, or more lies in it than belongs to it."""
HOP_S = 5
FRAME_NS = 10_000_000
IDLE_PEAK = 8
"""A channel that never leaves so many steps of 16 bits around its middle carries nothing: coded silence, dither."""
FULL_SCALE = 32_100
"""The loudest codes of mu-law and A-law count as full scale too."""
CLIPPED_SHARE = 0.0005
ALIKE_SHARE = 0.001
"""Channels whose difference has no more than this of the power of one are two copies: a leak is quieter by far."""
ECHO_LEAST_NS = 200_000_000
APART_NS = 50_000_000
MODELS: dict[VoiceActivity, Callable[[int], Confirming]] = {"accurate": SileroVoice, "fast": WebrtcVoice}


def hear(
    path: Path,
    *,
    caller_channel: int = 0,
    agent_channel: int | None = None,
    voice_activity: VoiceActivity = "accurate",
    call_id: str | None = None,
    shown: str | None = None,
) -> HeardCall:
    """What both sides of a recording said and when, in nanoseconds since its beginning.

    Channels count from 0; in a stereo file the agent's is the other one. A side of digital silence is ``unobserved``:
    it has no spans, and that does not mean that it was silent. ``call_id`` is the file's name unless given;
    ``shown`` is what a complaint calls the file.

    Raises ``BadInput`` for what is no recording of two sides (see ``StereoRecording``), the same sound in both channels
    included.
    """
    with StereoRecording(path, caller_channel=caller_channel, agent_channel=agent_channel, shown=shown) as recording:
        ears = Ears(recording.rate_hz, voice_activity)
        ears.hear(recording.blocks())
        if ears.alike:
            raise BadInput(
                "both channels hold the same sound: it is mono; caller and agent are needed on a channel each",
                where=wording.printable(str(path) if shown is None else shown),
            )
        details = {
            "rate": f"{recording.rate_hz} Hz",
            "coding": recording.coding,
            "channels": f"{recording.channels}: caller {recording.caller_channel}, agent {recording.agent_channel}",
            "voice activity": voice_activity,
            **({FILE: "; ".join(remarks)} if (remarks := recording.remarks()) else {}),
            **ears.remarks(),
        }
    caller, agent = ears.spans("caller"), ears.spans("agent")
    echo = ears.echo(caller)
    return HeardCall(
        call_id=call_id if call_id is not None else path.name,
        duration_ns=ears.duration_ns,
        caller=tuple(sorted((*caller, *echo))),
        agent=tuple(agent),
        caller_snr_db=ears.snr_db,
        echo=tuple(echo),
        unobserved=ears.unobserved,
        speaking_at_end=ears.speaking_at_end(caller, agent),
        details=details,
    )


class _Channel:
    """What is known of one channel's samples as they stand in the file."""

    def __init__(self) -> None:
        self.least, self.most, self.full, self.count, self.not_numbers = 32767, -32768, 0, 0, 0

    def add(self, pcm: Samples) -> None:
        low, high = int(pcm.min()), int(pcm.max())
        self.least, self.most = min(self.least, low), max(self.most, high)
        if high >= FULL_SCALE or low <= -FULL_SCALE:
            self.full += int((np.abs(pcm.astype(np.int32)) >= FULL_SCALE).sum())
        self.count += pcm.size

    @property
    def idle(self) -> bool:
        return self.most - self.least <= 2 * IDLE_PEAK


class _Power:
    """Power of a signal with its mean taken off, over all that was fed."""

    def __init__(self) -> None:
        self._sum, self._squares, self._count = 0.0, 0.0, 0

    def add(self, samples: npt.NDArray[np.generic]) -> None:
        self._sum += float(samples.sum(dtype=np.float64))
        self._squares += float(np.square(samples, dtype=np.float64).sum())
        self._count += samples.size

    @property
    def power(self) -> float:
        count = max(self._count, 1)
        return max(self._squares / count - (self._sum / count) ** 2, 0.0)


class Ears:
    """Both sides of a recording at its own rate."""

    def __init__(self, rate_hz: int, voice_activity: VoiceActivity) -> None:
        self._rate_hz = rate_hz
        self._heard_hz = 16_000 if rate_hz >= 16_000 else 8_000
        self._caller = CallerEar(self._heard_hz, MODELS[voice_activity](self._heard_hz))
        self._agent = AgentEar(self._heard_hz)
        self._channels: dict[Party, _Channel] = {"caller": _Channel(), "agent": _Channel()}
        self._delays_s: dict[Party, float] = {}
        """By the side in whose channel the other was found: how late."""
        self._not_numbers = 0
        self._sound, self._difference = _Power(), _Power()

    @property
    def alike(self) -> bool:
        """Both channels hold the same sound: nobody can tell the sides apart."""
        return not self.unobserved and self._difference.power <= ALIKE_SHARE * self._sound.power

    @property
    def duration_ns(self) -> int:
        """How much was heard."""
        return self._channels["caller"].count * 1_000_000_000 // self._rate_hz

    @property
    def snr_db(self) -> float | None:
        """Speech over noise on the caller's channel."""
        return self._caller.snr_db

    @property
    def unobserved(self) -> tuple[Party, ...]:
        """Sides whose channel carried nothing."""
        return tuple(party for party, channel in self._channels.items() if channel.idle)

    def hear(self, blocks: Iterable[Block]) -> None:
        """Listen to the whole recording."""
        echo, crosstalk = LeakFinder(self._heard_hz), LeakFinder(self._heard_hz)
        for caller, agent in self._hops(blocks):
            cleaned, leak = echo.take_out(caller, agent)
            self._caller.feed(cleaned, leak)
            if leak is not None:
                self._delays_s["caller"] = leak.delay_s
            cleaned, leak = crosstalk.take_out(agent, caller)
            self._agent.feed(cleaned, leak)
            if leak is not None:
                self._delays_s["agent"] = leak.delay_s
        self._caller.stop()
        self._agent.stop()

    def spans(self, party: Party) -> list[Span]:
        """A side's own speech."""
        if party in self.unobserved:
            return []
        return self._in_ns(self._caller.spans if party == "caller" else self._agent.spans)

    def echo(self, caller: list[Span]) -> list[Span]:
        """Where the agent's echo was audible and the caller did not speak."""
        around = [(start - APART_NS, end + APART_NS) for start, end in caller]
        free = subtract(self._in_ns(self._caller.echo), around)
        return [(start, end) for start, end in free if end - start >= ECHO_LEAST_NS]

    def speaking_at_end(self, caller: list[Span], agent: list[Span]) -> tuple[Party, ...]:
        """Sides that the end of the recording cut off."""
        sides: tuple[tuple[Party, list[Span]], ...] = (("caller", caller), ("agent", agent))
        return tuple(party for party, spans in sides if spans and spans[-1][1] > self.duration_ns - FRAME_NS)

    def remarks(self) -> dict[str, str]:
        """What a reader of the numbers should know of the samples."""
        said: dict[str, str] = {}
        for party, channel in self._channels.items():
            if channel.idle:
                said[f"{party} channel"] = "digital silence throughout: nothing of this side was recorded"
            elif channel.full > CLIPPED_SHARE * channel.count:
                said[f"{party} channel"] = f"clipped: {channel.full / channel.count:.1%} of its samples at full scale"
        for party, delay_s in self._delays_s.items():
            other = "agent" if party == "caller" else "caller"
            late = f"{delay_s * 1e3:.0f} ms late" if delay_s >= ECHO_LEAST_DELAY_S else "at once"
            said[f"leak into the {party} channel"] = f"the {other}, {late}: taken out"
        if self._not_numbers:
            said["samples that are no numbers"] = f"{self._not_numbers}, taken for silence"
        return said

    def _hops(self, blocks: Iterable[Block]) -> Iterator[tuple[Floats, Floats]]:
        """Both channels at the rate of the ears, whole frames at full scale 1; the last one filled up with silence."""
        converters = Resampler(self._rate_hz, self._heard_hz), Resampler(self._rate_hz, self._heard_hz)
        size = HOP_S * self._heard_hz
        held = np.zeros((2, 0), np.float32)
        for block in blocks:
            self._channels["caller"].add(block.caller)
            self._channels["agent"].add(block.agent)
            self._not_numbers += block.not_numbers
            self._sound.add(block.caller)
            self._difference.add(block.caller.astype(np.float32) - block.agent)
            both = np.stack([one.feed(pcm) for one, pcm in zip(converters, (block.caller, block.agent), strict=True)])
            held = np.concatenate((held, both.astype(np.float32) / np.float32(32768.0)), axis=1)
            while held.shape[1] >= size:
                yield held[0, :size], held[1, :size]
                held = held[:, size:]
        if held.shape[1]:
            held = np.pad(held, ((0, 0), (0, -held.shape[1] % (self._heard_hz // 100))))
            yield held[0], held[1]

    def _in_ns(self, frames: list[FrameSpan]) -> list[Span]:
        return clip([(first * FRAME_NS, last * FRAME_NS) for first, last in frames], 0, self.duration_ns)
