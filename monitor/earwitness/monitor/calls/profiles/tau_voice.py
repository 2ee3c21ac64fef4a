"""The tau-voice profile: that benchmark's own interaction metrics, its quirks included (definitions, "Interruptions").

Time is cut into ticks; who speaks in a tick speaks all of it. Means instead of percentiles; an answer without any gap
is none; both who begin in the same tick interrupt each other; a caller's sound beside a turn that the agent talks
through is counted only where the agent stops for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

TICK_NS: Final = 200_000_000
NO_YIELD_NS: Final = 2_000_000_000
"""An agent that speaks on for so long after a real interruption does not yield."""
SMALL_YIELD_NS: Final = 1_000_000_000
"""An agent that stops within that time of a backchannel, tic or aside has yielded to it wrongly."""
SMALL_RESPONSE_NS: Final = 2_000_000_000
"""An agent that begins until so long after the end of a tic or aside has answered it wrongly."""

EffectKind = Literal["vocal_tic", "non_directed"]
Stretch = tuple[int, int]
"""First tick, and the tick after the last."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A vocal tic, or speech to somebody else, in ticks ``first`` to ``end`` (exclusive)."""

    kind: EffectKind
    first: int
    end: int
    out_of_turn: bool = False
    """The sound is no speech of the caller's own lane: it stands beside the ticks."""


@dataclass(frozen=True, slots=True)
class TickCall:
    """One call as ticks: ``.`` nobody speaks, ``U`` the caller, ``A`` the agent, ``B`` both. ``backchannels``: ticks in
    which the caller means no more than a backchannel."""

    ticks: str
    backchannels: frozenset[int] = frozenset()
    effects: tuple[Effect, ...] = ()


@dataclass(slots=True)
class Counted:
    """What was counted over all calls."""

    simulations: int = 0
    gaps: list[int] = field(default_factory=list[int])
    """From the end of a turn to its answer, in ticks."""
    unanswered: int = 0
    stops: list[int] = field(default_factory=list[int])
    """From a real interruption to the agent's silence, in ticks."""
    not_yielded: int = 0
    agent_interrupts: int = 0
    right: dict[str, int] = field(default_factory=lambda: {"backchannel": 0, "vocal_tic": 0, "non_directed": 0})
    wrong: dict[str, int] = field(default_factory=lambda: {"backchannel": 0, "vocal_tic": 0, "non_directed": 0})

    def small(self, kind: str, *, error: bool) -> None:
        """Count what the agent made of a sound that did not want the floor."""
        (self.wrong if error else self.right)[kind] += 1


@dataclass(frozen=True, slots=True)
class TauVoice:
    """The eight metrics by the benchmark's names, latencies in seconds, None where nothing was counted; and the counts
    behind them."""

    response_latency_mean: float | None
    yield_latency_mean: float | None
    response_rate: float | None
    yield_rate: float | None
    agent_interruption_rate: float | None
    selectivity_backchannel: float | None
    selectivity_vocal_tic: float | None
    selectivity_non_directed: float | None
    counts: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def tau_voice(calls: Iterable[TickCall], *, tick_ns: int = TICK_NS) -> TauVoice:
    """The metrics over all calls together."""
    counted = Counted()
    for call in calls:
        _count(_without_end_mark(call), tick_ns, counted)
    turns, yields = len(counted.gaps) + counted.unanswered, len(counted.stops) + counted.not_yielded
    totals = {kind: counted.right[kind] + counted.wrong[kind] for kind in counted.right}
    return TauVoice(
        response_latency_mean=_mean_s(counted.gaps, tick_ns),
        yield_latency_mean=_mean_s(counted.stops, tick_ns),
        response_rate=_rate(len(counted.gaps), turns),
        yield_rate=_rate(len(counted.stops), yields),
        agent_interruption_rate=_rate(counted.agent_interrupts, turns),
        selectivity_backchannel=_selectivity(counted, "backchannel"),
        selectivity_vocal_tic=_selectivity(counted, "vocal_tic"),
        selectivity_non_directed=_selectivity(counted, "non_directed"),
        counts={
            "n_simulations": counted.simulations,
            "response_total": turns,
            "yield_total": yields,
            "backchannel_total": totals["backchannel"],
            "vocal_tic_total": totals["vocal_tic"],
            "non_directed_total": totals["non_directed"],
            "agent_interrupts_count": counted.agent_interrupts,
        },
    )


def _without_end_mark(call: TickCall) -> TickCall:
    """A caller who speaks in the last tick alone is the simulator's mark of the end."""
    t = call.ticks
    marked = len(t) > 1 and t[-1] in "UB" and t[-2] not in "UB"
    return TickCall(t[:-1], call.backchannels, call.effects) if marked else call


def _count(call: TickCall, tick_ns: int, counted: Counted) -> None:
    counted.simulations += 1
    caller, agent = _stretches(call.ticks, "UB"), _stretches(call.ticks, "AB")
    _answers(call, caller, agent, counted)
    counted.agent_interrupts += sum(call.ticks[first] == "B" for first, _ in agent)
    for stretch in caller:
        kind = _kind(call, stretch)
        if call.ticks[stretch[0]] == "B":
            _over_agent(call, stretch, kind, tick_ns, counted)
        elif kind in ("vocal_tic", "non_directed"):
            counted.small(kind, error=_begins(agent, stretch, tick_ns))
    for effect in call.effects:
        if effect.out_of_turn and effect.first < len(call.ticks):
            _beside_turn(effect, agent, tick_ns, counted)


def _answers(call: TickCall, caller: Sequence[Stretch], agent: Sequence[Stretch], counted: Counted) -> None:
    """Turns that end into the agent's silence: answered before the next such turn, or not."""
    turns = [s for s in caller if s[0] not in call.backchannels and not _speaks(call.ticks, s[1], "AB")]
    for n, (_, end) in enumerate(turns):
        following = turns[n + 1][0] if n + 1 < len(turns) else None
        onset = next((first for first, _ in agent if first >= end), None)
        if onset is not None and (following is None or onset <= following):
            counted.gaps.append(onset - end)
        elif following is not None:
            counted.unanswered += 1


def _over_agent(call: TickCall, stretch: Stretch, kind: str, tick_ns: int, counted: Counted) -> None:
    """Caller speech that begins while the agent speaks: does the agent stop within the window?"""
    window = (NO_YIELD_NS if kind == "real" else SMALL_YIELD_NS) // tick_ns
    seen = call.ticks[stretch[0] : stretch[0] + window]
    stopped = next((n for n, tick in enumerate(seen) if tick not in "AB"), None)
    if kind != "real":
        counted.small(kind, error=stopped is not None)
    elif stopped is None:
        counted.not_yielded += 1
    else:
        counted.stops.append(stopped)


def _beside_turn(effect: Effect, agent: Sequence[Stretch], tick_ns: int, counted: Counted) -> None:
    over = next((s for s in agent if s[0] <= effect.first < s[1]), None)
    if over is None:
        counted.small(effect.kind, error=_begins(agent, (effect.first, effect.end), tick_ns))
    elif (over[1] - effect.first) * tick_ns <= SMALL_YIELD_NS:
        counted.small(effect.kind, error=True)  # talked through, it is not counted at all


def _begins(agent: Sequence[Stretch], sound: Stretch, tick_ns: int) -> bool:
    """Whether the agent begins to speak from the sound's beginning on, until some time after its end."""
    return any(sound[0] <= first <= sound[1] + SMALL_RESPONSE_NS // tick_ns for first, _ in agent)


def _kind(call: TickCall, stretch: Stretch) -> str:
    if stretch[0] in call.backchannels:
        return "backchannel"
    inside = {e.kind for e in call.effects if not e.out_of_turn and e.first < stretch[1] and e.end > stretch[0]}
    return "vocal_tic" if "vocal_tic" in inside else "non_directed" if inside else "real"


def _stretches(ticks: str, who: str) -> list[Stretch]:
    found: list[Stretch] = []
    for n, tick in enumerate(ticks):
        if tick not in who:
            continue
        if found and found[-1][1] == n:
            found[-1] = (found[-1][0], n + 1)
        else:
            found.append((n, n + 1))
    return found


def _speaks(ticks: str, n: int, who: str) -> bool:
    return n < len(ticks) and ticks[n] in who


def _mean_s(ticks: Sequence[int], tick_ns: int) -> float | None:
    return sum(ticks) * tick_ns / len(ticks) / 1e9 if ticks else None


def _rate(count: int, of: int) -> float | None:
    return count / of if of else None


def _selectivity(counted: Counted, kind: str) -> float | None:
    total = counted.right[kind] + counted.wrong[kind]
    return 1 - counted.wrong[kind] / total if total else None
