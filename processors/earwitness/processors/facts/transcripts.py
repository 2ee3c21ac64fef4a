"""The caller's words: finals as they come, interims thinned out, both directions of travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from earwitness.monitor.contract.events import Transcript
from earwitness.processors.facts.shared import SECOND, Moments
from earwitness.processors.fragments import open_from
from earwitness.processors.frames import Handler

INTERIM_EVERY_NS = SECOND
DELTA_SERVICES = frozenset({"OpenAIRealtimeLLMService", "OpenAIRealtimeBetaLLMService"})
"""Services (and their subclasses) whose interims are pieces to be joined; all others restate the utterance."""


@dataclass(slots=True)
class _Utterance:
    """Words of one participant on their way to a final."""

    number: int
    count: int = 0
    text: str = ""
    deltas: bool = False
    language: str | None = None
    told_ns: int | None = None
    heard_ns: int = 0
    """When its last words came, which may be told later."""
    untold: bool = False


class Transcripts:
    """``transcript`` events. A final closes an utterance; the next interim opens another."""

    def __init__(self, now: Moments) -> None:
        self._now = now
        self._open: dict[str | None, _Utterance] = {}
        self._utterances = 0

    def frames(self) -> dict[str, Handler]:
        return {
            "InterimTranscriptionFrame": self._interim,
            "TranscriptionFrame": self._final,
            "EagerTranscriptionFrame": self._eager,
            "UserBackchannelFrame": self._backchannel,
            "VADUserStartedSpeakingFrame": lambda data: self._settle(data.timestamp),
            "UserStoppedSpeakingFrame": lambda data: self._settle(data.timestamp),
        }

    def _utterance(self, who: str | None) -> _Utterance:
        found = self._open.get(who)
        if found is None:
            self._utterances += 1
            found = self._open[who] = _Utterance(self._utterances)
        return found

    def _interim(self, data: Any) -> None:
        frame, at_ns = data.frame, data.timestamp
        who = _who(frame)
        utterance = self._utterance(who)
        utterance.count += 1
        utterance.heard_ns = at_ns
        utterance.language = _language(frame) or utterance.language
        utterance.deltas = any(cls.__name__ in DELTA_SERVICES for cls in type(data.source).__mro__)
        text = str(frame.text or "")
        utterance.text = utterance.text + text if utterance.deltas else text
        utterance.untold = utterance.untold or bool(text.strip())
        self._now.words_in_turn = self._now.words_in_turn or bool(text.strip())
        if utterance.told_ns is None or at_ns - utterance.told_ns >= INTERIM_EVERY_NS:
            self._tell(at_ns, who, utterance)

    def _tell(self, at_ns: int, who: str | None, utterance: _Utterance, *, whole: bool = False) -> None:
        """Tell an interim, unless ``whole`` only up to where a number or address may be beginning: redaction would not
        know the piece for what it is."""
        cut = len(utterance.text) if whole else open_from(utterance.text)
        text, held = utterance.text[:cut], utterance.text[cut:]
        if not text.strip():
            return
        utterance.told_ns, utterance.untold = at_ns, bool(held.strip())
        if utterance.deltas:
            utterance.text = held
        self._now.emit(
            Transcript, at_ns, party="caller", text=text, final=False, interim_count=utterance.count,
            form="delta" if utterance.deltas else "cumulative", participant=who, language=utterance.language,
            utterance_end_ns=utterance.heard_ns if utterance.heard_ns < at_ns else None,
            utterance_id=f"u{utterance.number}", in_context=False if self._now.muted else None,
        )  # fmt: skip

    def _settle(self, at_ns: int) -> None:
        """An utterance seems over and no final has come: its last interim must not be lost."""
        for who, utterance in self._open.items():
            if utterance.untold:
                self._tell(at_ns, who, utterance, whole=True)

    def _final(self, data: Any) -> None:
        frame, at_ns = data.frame, data.timestamp
        if type(data.source).__name__ == "DTMFAggregator":
            return  # keys, not words: they are told as dtmf
        who = _who(frame)
        text = str(frame.text or "")
        utterance = self._open.pop(who, None)
        if utterance is None:
            self._utterances += 1
            utterance = _Utterance(self._utterances)
        elif utterance.untold and not text.strip():
            self._tell(at_ns, who, utterance, whole=True)
        words = len(text.split())
        self._now.words_in_turn = self._now.words_in_turn or words > 0
        self._now.emit(
            Transcript, at_ns, party="caller", text=text, final=True, interim_count=utterance.count,
            participant=who, language=_language(frame) or utterance.language, utterance_id=f"u{utterance.number}",
            finalized=getattr(frame, "finalized", None), in_context=self._in_context(words),
        )  # fmt: skip

    def _in_context(self, words: int) -> bool | None:
        now = self._now
        too_few = now.agent_speaking and not now.turn_open and words < now.min_words
        return False if now.muted or too_few else None

    def _eager(self, data: Any) -> None:
        text = str(data.frame.text or "")
        self._now.emit(
            Transcript, data.timestamp, party="caller", text=text, final=False, participant=_who(data.frame),
            language=_language(data.frame), eager=True,
        )  # fmt: skip

    def _backchannel(self, data: Any) -> None:
        text = str(data.frame.text or "")
        self._now.emit(
            Transcript, data.timestamp, party="caller", text=text, final=True, participant=_who(data.frame),
            in_context=False,
        )  # fmt: skip

    def close(self, at_ns: int) -> None:
        self._settle(at_ns)
        self._open.clear()


def _who(frame: Any) -> str | None:
    return getattr(frame, "user_id", None) or None


def _language(frame: Any) -> str | None:
    language = getattr(frame, "language", None)
    return str(getattr(language, "value", language)) if language else None
