"""What the agent meant to say, what it did say, and what was cut off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from earwitness.monitor.contract.events import AgentText
from earwitness.processors.facts.runs import Run, Runs
from earwitness.processors.facts.shared import SECOND, Moments
from earwitness.processors.fragments import open_end, open_from
from earwitness.processors.frames import Handler

LETTER_NS = SECOND // 15
"""How long a letter takes to say, where nothing better is known."""
TOLD_EVERY_NS = SECOND
"""Words that come one by one are told together, this often."""
GOES_ON_NS = 2 * SECOND
"""A number goes on within this, or is over."""


class _Held:
    """Text of one response that is not told yet, because more may belong to it.

    Redaction sees one event at a time: a number must not pass it word by word.
    """

    def __init__(self) -> None:
        self.run: Run | None = None
        self.text = ""
        self.due_ns = 0
        """Told from then on, unless it ends in what may be the beginning of a number."""
        self.look_ns: int | None = None
        """When it will be looked at next."""
        self._added_ns = 0

    def add(self, at_ns: int, run: Run, text: str, wait_ns: int) -> None:
        """Put text behind what is held of the same response."""
        due_ns = at_ns + wait_ns
        self.due_ns = min(self.due_ns, due_ns) if self.text else due_ns
        self.run, self.text, self._added_ns = run, self.text + text, at_ns

    def take(self) -> str:
        text, self.text, self.run = self.text, "", None
        return text

    def again_ns(self, at_ns: int) -> int | None:
        """When to look again; None: tell it now."""
        if at_ns < self.due_ns:
            return self.due_ns
        over_ns = self._added_ns + GOES_ON_NS
        return over_ns if at_ns < over_ns and open_end(self.text) else None


class Words:
    """``agent_text`` events. Words count as spoken when they leave the output transport, in step with the audio."""

    def __init__(self, now: Moments, runs: Runs) -> None:
        self._now = now
        self._runs = runs
        self._meant = _Held()
        self._spoken = _Held()

    def frames(self) -> dict[str, Handler]:
        return {
            "AggregatedTextFrame": self._intended,
            "TTSTextFrame": self._made,
            "LLMFullResponseEndFrame": self._run_ended,
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
        fragment = text if not run.segments or text[:1].isspace() else f" {text}"
        self._runs.place(run, text, context)
        if self._meant.run is not run:
            self._tell_meant(data.timestamp)
        self._meant.add(data.timestamp, run, fragment, 0)
        if run.over and not run.unplaced:
            self._tell_meant(data.timestamp)
        else:
            self._look(data.timestamp, self._meant, self._tell_meant)

    def _run_ended(self, data: Any) -> None:
        run = self._meant.run
        if run is not None and run.over and not run.unplaced:
            self._tell_meant(data.timestamp)

    def _look(self, at_ns: int, held: _Held, tell: Callable[[int], None]) -> None:
        """Tell what is held, or look at it again when it may be told."""
        if not held.text:
            return
        again_ns = held.again_ns(at_ns)
        if again_ns is None:
            tell(at_ns)
        elif held.look_ns is None or again_ns < held.look_ns:
            held.look_ns = again_ns
            self._now.agenda.post(again_ns, lambda now_ns: self._look_again(now_ns, held, tell))

    def _look_again(self, at_ns: int, held: _Held, tell: Callable[[int], None]) -> None:
        if held.look_ns == at_ns:
            held.look_ns = None
            self._look(at_ns, held, tell)

    def _tell_meant(self, at_ns: int) -> None:
        run, text = self._meant.run, self._meant.take()
        if run is not None and text:
            self._now.emit(AgentText, at_ns, response_id=run.id, intended=text)

    def _tell_spoken(self, at_ns: int) -> None:
        run, text = self._spoken.run, self._spoken.take()
        if run is not None and text:
            self._now.emit(AgentText, at_ns, response_id=run.id, spoken=text)

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
        if self._spoken.run is not run:
            self._tell_spoken(at_ns)
        several = len(text.split()) > 1
        self._spoken.add(at_ns, run, fragment, 0 if several else TOLD_EVERY_NS)
        self._look(at_ns, self._spoken, self._tell_spoken)

    def played(self, at_ns: int, run: Run) -> None:
        """A response has been played whole."""
        if self._spoken.run is run:
            self._tell_spoken(at_ns)

    def cut(self, at_ns: int, run: Run) -> None:
        """Playback of a response was cut: say once what was not heard."""
        self._tell_meant(at_ns)
        if self._spoken.run is not run:
            self._tell_spoken(at_ns)
        if run.word_times:
            unspoken = self._rest(run)
        else:
            heard, unspoken = self._estimate(run)
            self._spoken.add(at_ns, run, heard, 0)
        spoken = self._spoken.take()
        if unspoken and open_end(spoken) and open_end(unspoken.split(maxsplit=1)[0]):
            # cut in mid-number: in two halves it would pass redaction
            at = open_from(spoken)
            spoken, unspoken = spoken[:at].rstrip(), f"{spoken[at:].strip()} {unspoken}"
        if spoken:
            self._now.emit(AgentText, at_ns, response_id=run.id, spoken=spoken)
        if unspoken:
            self._now.emit(AgentText, at_ns, response_id=run.id, unspoken=unspoken)

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

    @staticmethod
    def _estimate(run: Run) -> tuple[str, str]:
        """Without word times: what was and was not heard, by how much of each piece's audio was written."""
        heard: list[str] = []
        rest: list[str] = []
        for segment in run.segments:
            if segment.spoken:
                continue
            words = segment.text.split()
            known_ns = (segment.to_ns if segment.to_ns is not None else run.made_ns) - segment.from_ns
            length_ns = max(known_ns, 0 if segment.to_ns is not None else len(segment.text) * LETTER_NS, 1)
            share = min(1.0, max(0.0, (run.written_ns - segment.from_ns) / length_ns))
            count = int(share * len(words))
            heard += words[:count]
            rest += words[count:]
        prefix = " " if heard and run.spoken_any else ""
        return prefix + " ".join(heard), " ".join(rest)

    def close(self, at_ns: int) -> None:
        self._tell_meant(at_ns)
        self._tell_spoken(at_ns)
        self._throw_away(at_ns)


def _letters(text: str) -> int:
    return sum(char.isalnum() for char in text)
