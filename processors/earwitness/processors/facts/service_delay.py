"""How late a service's word on the caller's speech comes, where its settings tell."""

from __future__ import annotations

from typing import Any, Final

from earwitness.processors.facts.shared import MS

SERVER_VAD: Final = "server_vad"
LONGEST_MS: Final = 60_000


def end_delay_ns(service: Any) -> int | None:
    """How long a speech-to-speech service waits in silence before it says that the caller has stopped.

    Known where its session has a ``server_vad`` with ``silence_duration_ms`` (OpenAI, Azure, xAI Realtime and what is
    built like them). None where the service judges meaning ("semantic" turn detection), keeps a default of its own
    or says nothing of it: then its word is only an upper bound of where speech ended (definitions, "Time and
    evidence"). The settings are read at each edge, since they can change during a call. When speech *began*, no
    service's settings tell: ``prefix_padding_ms`` says how much audio is kept, not when the beginning was noticed.
    """
    settings = getattr(service, "_settings", None)
    for session in (getattr(settings, "session_properties", None), getattr(service, "_session_properties", None)):
        listening = getattr(getattr(session, "audio", None), "input", None)
        for turns in (getattr(listening, "turn_detection", None), getattr(session, "turn_detection", None)):
            silence_ms = getattr(turns, "silence_duration_ms", None)
            if (
                getattr(turns, "type", None) == SERVER_VAD
                and isinstance(silence_ms, int)
                and 0 < silence_ms <= LONGEST_MS
            ):
                return silence_ms * MS
    return None
