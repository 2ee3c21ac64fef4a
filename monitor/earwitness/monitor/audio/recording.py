"""A stereo recording heard: who was audible when, on either side, in one pass and constant memory.

The agent's side is synthesised speech, so level tells it; the caller's needs voice activity (definitions, "Time and
evidence": measuring point ``recording``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from earwitness.monitor.audio.audible import AudibleDetector
from earwitness.monitor.audio.voice_activity import Edge, SpeechDetector
from earwitness.monitor.audio.wav import StereoRecording
from earwitness.monitor.calls.heard import HeardCall
from earwitness.monitor.calls.intervals import Span

VoiceActivity = Literal["accurate", "fast"]


def hear(
    path: Path,
    *,
    caller_channel: int = 0,
    agent_channel: int | None = None,
    voice_activity: VoiceActivity = "accurate",
    call_id: str | None = None,
) -> HeardCall:
    """What both sides of a recording said and when, in nanoseconds since its beginning.

    Channels count from 0; in a stereo file the agent's is the other one. A side of digital silence is ``unobserved``:
    it has no spans, and that does not mean that it was silent. ``call_id`` is the file's name unless given.

    Raises ``BadInput`` for what is no recording of two sides (see ``StereoRecording``).
    """
    with StereoRecording(path, caller_channel=caller_channel, agent_channel=agent_channel) as recording:
        rate_hz = recording.rate_hz
        caller_ear, agent_ear = SpeechDetector(rate_hz), AudibleDetector()
        caller_edges: list[Edge] = []
        agent_edges: list[Edge] = []
        heard = 0
        caller_silent = agent_silent = True
        for block in recording.blocks():
            start_ns = heard * 1_000_000_000 // rate_hz
            heard += block.caller.size
            end_ns = heard * 1_000_000_000 // rate_hz
            caller_edges += caller_ear.feed(block.caller, end_ns)
            agent_edges += agent_ear.feed(block.agent, rate_hz, 1, start_ns, end_ns)
            caller_silent = caller_silent and not block.caller.any()
            agent_silent = agent_silent and not block.agent.any()
        duration_ns = heard * 1_000_000_000 // rate_hz
        caller_edges += caller_ear.stop(duration_ns)
        agent_edges += agent_ear.stop(duration_ns)
        details = {
            "rate": f"{rate_hz} Hz",
            "coding": recording.coding,
            "channels": f"{recording.channels}, caller {caller_channel}",
            "voice activity": voice_activity,
        }
    snr = [edge.snr_db for edge in caller_edges if edge.snr_db is not None]
    return HeardCall(
        call_id=call_id if call_id is not None else path.name,
        duration_ns=duration_ns,
        caller=_spans(caller_edges),
        agent=_spans(agent_edges),
        caller_snr_db=snr[-1] if snr else None,
        unobserved=(("caller",) if caller_silent else ()) + (("agent",) if agent_silent else ()),
        details=details,
    )


def _spans(edges: list[Edge]) -> tuple[Span, ...]:
    return tuple((on.edge_ns, off.edge_ns) for on, off in zip(edges[::2], edges[1::2], strict=True))
