"""The overlaps of a call as a list: when, what was said, what the caller wanted, and who says so."""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor import wording
from earwitness.monitor.cli.views.call_words import decider_words, quoted
from earwitness.monitor.cli.views.lanes import hundredths
from earwitness.monitor.contract.records import Overlap

_WANT_WORDS = {"yes": "wanted", "no": "not", "unknown": "unknown", None: "set aside"}
_WAY_WORDS = {True: "gave way", False: "kept the floor", None: wording.NOTHING}
_ROW = "{:<5} {:>8}  {:<10} {:<13} {:<15} {:<5} {:<24} {}"


def overlap_lines(overlaps: Sequence[Overlap]) -> list[str]:
    """A heading and a line for each overlap, in the order given."""
    if not overlaps:
        return ["no overlaps: the caller never spoke while the agent was audible"]
    heading = _ROW.format("id", "at", "the caller", "class", "the agent", "cell", "decided by", "words")
    return [heading, *map(overlap_line, overlaps)]


def overlap_line(overlap: Overlap) -> str:
    """One overlap."""
    return _ROW.format(
        wording.printable(overlap.id, 5),
        hundredths(overlap.u_on_ns),
        _WANT_WORDS[overlap.wanted],
        (overlap.want_class or wording.NOTHING).replace("_", " "),
        _WAY_WORDS[overlap.gave_way],
        overlap.cell or wording.NOTHING,
        decider_words(overlap),
        quoted(overlap.text, 60),
    ).rstrip()
