"""Every bound of the definitions in one place. The set in force has an id that is part of each measure's key."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from hashlib import blake2s
from typing import Final

from earwitness.monitor.calls.lexicon import WordsAdded

S: Final = 1_000_000_000
"""Nanoseconds in a second."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of the definitions, in nanoseconds unless the name says otherwise; the defaults are theirs."""

    # "Time and evidence"
    snr_least_db: float = 15.0
    match_ns: int = S // 4
    """How far apart two kinds of evidence may lie and still tell of the same speech."""
    reorder_ns: int = 30 * S
    reorder_events: int = 1_000
    silent_call_ns: int = 300 * S

    # "Speech and turns"
    agent_merge_ns: int = S // 2
    caller_merge_ns: int = 6 * S // 10
    turn_gap_ns: int = 3 * S
    words_reach_ns: int = 3 * S
    late_words_ns: int = 30 * S
    """How long a recogniser may take over speech after which nobody was audible."""
    early_answer_ns: int = S
    turn_end_ns: int = 3 * S // 10
    """The last stretch of a turn, in which agent audio answers and does not interrupt."""
    closing_ns: int = 3 * S
    lost_ns: int = 3 * S
    still_speaking_ns: int = S
    """Speech without an end that was heard up to this long before the call's end was cut off by it."""

    unheard_ns: int = 3 * S
    """Synthesised speech of which nothing was played for so long is not merely on its way."""
    one_way_audible_ns: int = S
    """How long the agent must have been audible for a caller who asks whether anybody is there."""
    one_way_asks: int = 2
    one_way_gap_ns: int = 30 * S
    """Two such questions further apart have nothing to do with one another."""
    one_way_quiet_ns: int = 10 * S
    """Nothing arrived from the caller for so long while the agent talked."""

    # "Latency"
    overdue_ns: int = 10 * S
    zero_variance_turns: int = 20

    # "Dead air"
    dead_air_ns: int = 3 * S
    warning_dead_air_ns: int = 5 * S
    critical_dead_air_ns: int = 10 * S
    hold_most_ns: int = 10 * S

    # "Interruptions"
    overlap_merge_ns: int = 3 * S // 10
    overlap_join_ns: int = 6 * S // 10
    yield_wanted_ns: int = 2 * S
    yield_unwanted_ns: int = S
    yield_unwanted_recording_ns: int = 6 * S // 10
    stop_silence_ns: int = S // 2
    echo_ns: int = 3 * S
    echo_least_words: int = 3
    """Fewer words of the agent's own are as likely a caller who repeats them."""
    noise_wait_ns: int = 3 * S
    words_follow_ns: int = 3 * S // 2
    backchannel_most_ns: int = 1_080_000_000
    terminal_ns: int = 3 * S // 10
    expectation_reach_ns: int = S // 2
    """How far from its overlap's onset an expectation may lie."""
    spurious_near_ns: int = 2 * S
    interruption_tolerance_ns: int = S // 20
    premature_gap_ns: int = 3 * S // 2
    premature_after_ns: int = S // 2
    resumed_after_ns: int = S // 2

    # "Outcomes"
    abandoned_after_ns: int = 10 * S
    audio_lost_ns: int = 2 * S

    # "Records, windows, labels"
    settle_ns: int = 3 * S

    words: WordsAdded = ()
    """A site's own small words by language and list (``Lexicon``): another list is another definition."""

    @cached_property
    def id(self) -> str:
        """``default-1`` for the definitions' own bounds, else a hash of what stands here."""
        if all(getattr(self, f.name) == f.default for f in fields(self)):
            return "default-1"
        return "b-" + blake2s(repr(sorted(asdict(self).items())).encode(), digest_size=5).hexdigest()


DEFAULT_BOUNDS: Final = Bounds()
