"""Dead air: nobody audible for 3 s or more, split by who owed speech (definitions, "Dead air")."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.facts import ToolLife
from earwitness.monitor.calls.intervals import Span, intersect, subtract, total, union
from earwitness.monitor.calls.lexicon import tokens
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.talk import Talk, turn_of_tool


@dataclass(frozen=True, slots=True)
class Stretch:
    """One stretch of dead air. ``end_ns`` None: it goes on. Time in which a tool ran for nobody's turn, or in which
    the caller was muted and owed speech, is in none of the four."""

    start_ns: int
    end_ns: int | None
    agent_ns: int
    tool_ns: int
    hold_ns: int
    caller_ns: int

    @property
    def owed_by_agent_ns(self) -> int:
        """What alerts, containment and scenarios look at: agent and tool together."""
        return self.agent_ns + self.tool_ns


def broke_off(scene: Scene, voice: Voice) -> bool:
    """Whether a response stopped with text unspoken (A28, B04)."""
    run = voice.run
    if run is None:
        return False
    if voice.truncated or run.unspoken:
        return True
    off = voice.off_ns
    if off is None:
        return False
    cancelled = run.at.get("cancelled")
    if cancelled is not None and voice.on_ns <= cancelled <= off + scene.bounds.match_ns and voice.truncated is None:
        return True
    if not run.spoken or voice.truncated is False:
        return any(at > off + scene.bounds.agent_merge_ns for at, _ in run.intended)
    lengths = len(run.spoken), len(run.intended)
    if run.word_counts is None or run.word_counts[0] != lengths:
        said = sum([len(words) for _, words in run.spoken_words()])
        run.word_counts = lengths, said, sum([len(tokens(text)) for _, text in run.intended])
    _, said, meant = run.word_counts
    return meant > said


def dead_air(scene: Scene, talk: Talk, past: Carry) -> list[Stretch]:
    """All stretches of dead air of a call of which both sides are observed."""
    if not scene.caller_edges or not scene.agent_edges:
        return []
    sounds = (*scene.caller_spans(), *scene.caller_spans(other=True), *scene.agent_spans(), *scene.uncertain_spans())
    audible = union(sounds)
    began = scene.facts.connected_ns if past.first else past.cut_ns
    if began is None and scene.facts.recording:
        began = 0
    if began is None:
        if not audible:
            return []
        began = audible[0][0]
    silent = _parted(scene, subtract([(began, _agents_until(scene))], audible))
    quiet = [s for s in silent if s[1] - s[0] >= scene.bounds.dead_air_ns]
    if not quiet:
        return []
    owing = _Owing(scene, talk, past)
    stretches: list[Stretch] = []
    for start, end in quiet:
        shares = owing.split(start, end)
        if sum(shares) >= scene.bounds.dead_air_ns:
            open_end = None if end == scene.horizon_ns and not scene.over else end
            stretches.append(Stretch(start, open_end, *shares))
    return stretches


def _agents_until(scene: Scene) -> int:
    """Up to when the call was the agent's: behind a hand-over others talk, and nobody here knows of it."""
    return min((at for at, phase in scene.facts.transfers if phase == "completed"), default=scene.horizon_ns)


def _parted(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Silences, parted where speech ended of which the beginning was not seen."""
    ends = sorted(s.off_ns for s in scene.segments if s.on_ns is None and s.off_ns is not None and not s.echo)
    if not ends:
        return list(spans)
    return [part for lo, hi in spans for part in pairwise((lo, *(end for end in ends if lo < end < hi), hi))]


class _Owing:
    """Who owes speech at a moment of silence."""

    def __init__(self, scene: Scene, talk: Talk, past: Carry) -> None:
        self.scene = scene
        horizon = scene.horizon_ns
        self.waiting = _waiting(scene, talk)
        self.tools = _running_for_turns(scene, talk)
        self.any_tools = _running(scene, lambda _: True)
        self.transfers = _transferring(scene)
        self.follow_ups = _following_up(scene, talk)
        self.said = sorted((s.end_ns(horizon), n) for n, v in enumerate(scene.voices) for s in v.sounds)
        self.turn_starts = [t.start_ns for t in talk.turns]
        self.asked = sorted(r.asked_ns for r in scene.facts.runs.values() if r.asked_ns is not None)
        self.asked_before = past.agent_asked
        self.first_sound = 0 if past.numbers["a"] else min((v.on_ns for v in scene.voices), default=None)
        self.holds = scene.facts.holds

    def split(self, start: int, end: int) -> tuple[int, int, int, int]:
        """Time owed in a stretch by agent, tool, hold and caller."""
        cuts = {start, end}
        for spans in (self.waiting, self.tools, self.any_tools, self.transfers, self.follow_ups, self.scene.mutes):
            cuts |= {edge for span in spans for edge in span if start < edge < end}
        cuts |= {at for at in self.turn_starts if start < at < end}
        cuts |= {at for at, _ in self.holds if start < at < end}
        cuts |= {at for at in self.asked if start < at < end}
        owed = {"agent": 0, "tool": 0, "hold": 0, "caller": 0, "nobody": 0}
        marks = sorted(cuts)
        for lo, hi in pairwise(marks):
            who = self._owner(lo, start)
            if who == "hold":
                held = min(hi - lo, self.scene.bounds.hold_most_ns - owed["hold"])
                owed["hold"] += held
                owed["agent"] += hi - lo - held
            else:
                owed[who] += hi - lo
        return owed["agent"], owed["tool"], owed["hold"], owed["caller"]

    def _owner(self, at: int, start: int) -> str:
        waits, tool, transfer = _in(at, self.waiting), _in(at, self.tools), _in(at, self.transfers)
        last = self._last_voice(start)
        announced = last is not None and not self._taken(last, at) and self._announced(last)
        if (_in(at, self.any_tools) or transfer) and (announced or self._held(at)):
            return "hold"
        if tool:
            return "tool"
        if waits or _in(at, self.follow_ups) or self._broke_off(last, at) or self._promised(last, at):
            return "agent"
        if last is not None and announced and self._looked_up(last, at):
            return "agent"
        if self.first_sound is None or at < self.first_sound:
            greeting_due = self.asked_before or any(asked <= at for asked in self.asked)
            return "agent" if greeting_due else "caller"
        if _in(at, self.any_tools) or _in(at, self.scene.mutes):
            return "nobody"
        return "caller"

    def _last_voice(self, at: int) -> Voice | None:
        n = bisect_right(self.said, (at, len(self.scene.voices)))
        return self.scene.voices[self.said[n - 1][1]] if n else None

    def _taken(self, voice: Voice, at: int) -> bool:
        """Whether the caller has taken the floor since the response ended (or by cutting it off)."""
        return any(voice.on_ns < start <= at for start in self.turn_starts)

    def _broke_off(self, voice: Voice | None, at: int) -> bool:
        if voice is None or self._taken(voice, at):
            return False
        goes_on = any(s.on_ns > at for s in voice.sounds)
        return goes_on or broke_off(self.scene, voice)

    def _promised(self, voice: Voice | None, at: int) -> bool:
        """Whether the agent promised an action that nobody started."""
        if voice is None or self._taken(voice, at) or voice.run is None:
            return False
        off = voice.off_ns if voice.off_ns is not None else at
        started = any(
            tool.called_ns >= voice.on_ns - self.scene.bounds.settle_ns and tool.called_ns <= max(at, off)
            for tool in self.scene.facts.tools.values()
        )
        started = started or any(voice.on_ns <= asked <= max(at, off) for asked, _ in self.scene.facts.transfers)
        words = _tail(self.scene, voice)
        return not started and any(tongue.promises_action(words) for tongue in self.scene.tongues)

    def _looked_up(self, voice: Voice, at: int) -> bool:
        """Whether tools that the response called have all answered, and none of them handed the caller over."""
        facts, run = self.scene.facts, voice.run
        own = [t for t in facts.tools.values() if run is not None and t.run == run.id and t.called_ns <= at]
        back = all(t.ended_ns is not None and t.ended_ns <= at and t.status != "cancelled" for t in own)
        return bool(own) and back and not any(facts.transfer_tools.get(t.id) == "ok" for t in own)

    def _announced(self, voice: Voice) -> bool:
        words = _tail(self.scene, voice)
        return any(tongue.announces_wait(words) for tongue in self.scene.tongues)

    def _held(self, at: int) -> bool:
        state = False
        for moment, on in self.holds:
            if moment <= at:
                state = on
        return state


def _tail(scene: Scene, voice: Voice) -> tuple[str, ...]:
    """The last words that a response made audible."""
    run = voice.run
    if run is None:
        return ()
    return scene.said_by(run, 0, scene.horizon_ns)[-20:]


def _waiting(scene: Scene, talk: Talk) -> list[Span]:
    """When a turn awaited its answer."""
    spans: list[Span] = []
    for n, turn in enumerate(talk.turns):
        after = talk.turns[n + 1].start_ns if n + 1 < len(talk.turns) else scene.horizon_ns
        until = turn.answer_ns if turn.answer_ns is not None else min(_greeted_ns(scene, turn.start_ns), after)
        spans.append((turn.end_ns(scene.horizon_ns), until))
    return union(spans)


def _greeted_ns(scene: Scene, start_ns: int) -> int:
    """When the greeting followed a turn that came before it: then it is the caller's move."""
    greetings = (v.on_ns for v in scene.voices if v.run is not None and v.run.why == "greeting")
    return next((on for on in greetings if on > start_ns), scene.horizon_ns)


def _running(scene: Scene, which: Callable[[ToolLife], bool]) -> list[Span]:
    tools = scene.facts.tools.values()
    return union((t.called_ns, t.ended_ns if t.ended_ns is not None else scene.horizon_ns) for t in tools if which(t))


def _running_for_turns(scene: Scene, talk: Talk) -> list[Span]:
    """When a tool ran that an answer waited for: up to the next caller turn, from which on that one waits."""
    spans: list[Span] = []
    for tool in scene.facts.tools.values():
        turn = turn_of_tool(talk, tool)
        if not tool.blocking or turn is None:
            continue
        after = next((t.start_ns for t in talk.turns if t.start_ns > turn.start_ns), scene.horizon_ns)
        until = min(scene.horizon_ns if tool.ended_ns is None else tool.ended_ns, after)
        if tool.called_ns < until:
            spans.append((tool.called_ns, until))
    return union(spans)


def _following_up(scene: Scene, talk: Talk) -> list[Span]:
    """When what a tool had found was being put into words: up to its first sound, or the caller's next turn."""
    facts, spans = scene.facts, list[Span]()
    heard = {v.run.id: v.on_ns for v in scene.voices if v.run is not None}
    for run in facts.runs.values():
        asked = run.asked_ns
        if run.why != "tool_result" or asked is None:
            continue
        after = next((t.start_ns for t in talk.turns if t.start_ns > asked), scene.horizon_ns)
        ends = (heard.get(run.id), *(run.at.get(end) for end in ("cancelled", "empty", "tools_called")))
        spans.append((asked, min(at for at in (*ends, after) if at is not None)))
    return union(spans)


def _transferring(scene: Scene) -> list[Span]:
    spans: list[Span] = []
    since: int | None = None
    for at, phase in scene.facts.transfers:
        if phase in ("requested", "ringing"):
            since = at if since is None else since
        elif since is not None:
            spans.append((since, at))
            since = None
    if since is not None:
        spans.append((since, scene.horizon_ns))
    return union(spans)


def _in(at: int, spans: Sequence[Span]) -> bool:
    return any(lo <= at < hi for lo, hi in spans)


def talk_time(scene: Scene, *, from_ns: int, to_ns: int) -> dict[str, int]:
    """Time in which the caller alone, the agent alone, both, nobody is audible; empty where a side is unobserved. Time
    in which nobody knows whether the agent was still heard is in none of them."""
    if not scene.caller_edges or not scene.agent_edges or to_ns <= from_ns:
        return {}
    known = subtract([(from_ns, to_ns)], scene.uncertain_spans())
    caller = intersect(known, scene.caller_spans())
    agent = intersect(known, scene.agent_spans())
    either = total(union([*caller, *agent]))
    both = total(caller) + total(agent) - either
    return {
        "caller": total(caller) - both,
        "agent": total(agent) - both,
        "both": both,
        "nobody": total(known) - either,
    }
