"""What the agent meant to say, what it did say, and what was cut off."""

from __future__ import annotations

from typing import Any

from earwitness.monitor.contract.events import AgentText
from earwitness.processors.facts.runs import Run, Runs
from earwitness.processors.facts.shared import SECOND, Moments
from earwitness.processors.fragments import open_end
from earwitness.processors.frames import Handler
from earwitness.processors.recorder import clip

LETTER_NS = SECOND // 15
"""How long a letter takes to say, where nothing better is known."""


HELD_NS = 2 * SECOND
"""A number goes on within this, or is over."""


class Words:
    """``agent_text`` events. Words count as spoken when they leave the output transport, in step with the audio."""

    def __init__(self, now: Moments, runs: Runs) -> None:
        self._now = now
        self._runs = runs
        self._held = ""
        """Spoken text that may be the beginning of a number."""
        self._held_of: Run | None = None

    def frames(self) -> dict[str, Handler]:
        return {
            "AggregatedTextFrame": self._intended,
            "TTSTextFrame": self._made,
            "InterruptionFrame": lambda data: self._throw_away(data.timestamp),
        }

    def _intended(self, data: Any) -> None:
        frame = data.frame
        text = str(frame.text)
        if getattr(frame, "skip_tts", False) or not text.strip():
            return
        context = getattr(frame, "context_id", None)
        run = self._runs.for_text(text, context)
        if run is None:
            return
        fragment, cut = clip(text if not run.segments or text[:1].isspace() else f" {text}")
        self._runs.place(run, text, context)
        self._now.emit(AgentText, data.timestamp, response_id=run.id, intended=fragment, truncated=cut)

    def _made(self, data: Any) -> None:
        # pushed by synthesis: audio time, not yet play time. Tells whether it gives single words
        run = self._runs.for_audio(getattr(data.frame, "context_id", None), data.source.name)
        if run is None:
            return
        if data.frame.pts:
            run.word_times = True
        elif run.segments and run.segments[-1].to_ns is None:
            run.segments[-1].to_ns = run.made_ns

    def left(self, at_ns: int, text: str, context: str | None, spaced: bool) -> None:
        """Text has left the output transport: its audio has been played, or begins to be."""
        run = self._runs.of_context.get(context) if context is not None else None
        run = run or self._runs.playing or self._runs.for_audio(None, "")
        if run is None or not text.strip():
            return
        fragment = text if spaced or not run.spoken_any or text[:1].isspace() else f" {text}"
        run.spoken_any = True
        run.spoken_letters += _letters(text)
        if not run.word_times:
            for segment in run.segments:
                if not segment.spoken:
                    segment.spoken = True
                    break
        if self._held_of is not run:
            self._release(at_ns)
        # Redaction sees one event at a time: a number must not pass it word by word.
        self._held_of, self._held = run, self._held + fragment
        if not open_end(self._held):
            self._release(at_ns)
            return
        held = self._held
        self._now.agenda.post(at_ns + HELD_NS, lambda now_ns: self._release(now_ns) if self._held == held else None)

    def _release(self, at_ns: int) -> None:
        """Tell what was kept back: nothing more belongs to it."""
        run, held = self._held_of, self._held
        self._held_of, self._held = None, ""
        if run is not None and held:
            fragment, cut = clip(held)
            self._now.emit(AgentText, at_ns, response_id=run.id, spoken=fragment, truncated=cut)

    def cut(self, at_ns: int, run: Run) -> None:
        """Playback of a response was cut: say once what was not heard."""
        self._release(at_ns)
        unspoken = self._rest(run) if run.word_times else self._estimated_rest(at_ns, run)
        if unspoken:
            text, shortened = clip(unspoken)
            self._now.emit(AgentText, at_ns, response_id=run.id, unspoken=text, truncated=shortened)

    def _throw_away(self, at_ns: int) -> None:
        for run in list(self._runs.live.values()):
            if run.cancelled and not run.sounding and not run.settled:
                run.settled = True
                if run.segments:
                    self.cut(at_ns, run)
                self._runs.drop(run)

    @staticmethod
    def _rest(run: Run) -> str:
        letters, text = run.spoken_letters, run.intended
        for at, char in enumerate(text):
            if letters <= 0 and char.isalnum():
                return text[at:].strip()
            letters -= char.isalnum()
        return ""

    def _estimated_rest(self, at_ns: int, run: Run) -> str:
        """Without word times: by how much of the piece's audio was written. What was heard of it is told first."""
        rest: list[str] = []
        for segment in run.segments:
            if segment.spoken:
                continue
            words = segment.text.split()
            known_ns = (segment.to_ns if segment.to_ns is not None else run.made_ns) - segment.from_ns
            length_ns = max(known_ns, 0 if segment.to_ns is not None else len(segment.text) * LETTER_NS, 1)
            share = min(1.0, max(0.0, (run.written_ns - segment.from_ns) / length_ns))
            heard = int(share * len(words))
            if heard:
                prefix = " " if run.spoken_any else ""
                run.spoken_any = True
                self._now.emit(AgentText, at_ns, response_id=run.id, spoken=prefix + " ".join(words[:heard]))
            rest += words[heard:]
        return " ".join(rest)

    def close(self, at_ns: int) -> None:
        self._release(at_ns)
        self._throw_away(at_ns)


def _letters(text: str) -> int:
    return sum(char.isalnum() for char in text)
