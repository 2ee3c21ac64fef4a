"""Where a call ended: where somebody said so, or before a silence in which nothing came (A38)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from earwitness.monitor.calls.facts import Entry


def end_by(
    entries: Sequence[Entry], last_ns: int | None, as_of_ns: int, silent_ns: int, *, plain: bool
) -> tuple[int | None, int | None, int]:
    """See `end_of`, by those of ``entries`` up to ``as_of_ns``. ``plain``: none ended the call or came after a long
    silence, so that it is told without a search."""
    upto = len(entries)
    if upto and entries[-1][0] > as_of_ns:
        upto = bisect_right(entries, as_of_ns, key=_moment)
    if plain:
        last_ns = entries[upto - 1][0] if upto else last_ns
        return last_ns if last_ns is not None and as_of_ns - last_ns > silent_ns else None, None, 0
    return end_of(entries[:upto], last_ns, as_of_ns, silent_ns)


def end_of(
    entries: Sequence[Entry], last_ns: int | None, as_of_ns: int, silent_ns: int
) -> tuple[int | None, int | None, int]:
    """Where the call ended, if it has; where stray events begin, and how many there are.

    ``entries`` are those up to ``as_of_ns``, ``last_ns`` is the last one before them. A call that was silent for longer
    than ``silent_ns`` ended at its last event; what comes after such a silence is stray.
    """
    ended: int | None = None
    if entries and entries[-1][0] - (entries[0][0] if last_ns is None else last_ns) <= silent_ns:
        # All of them together take no longer than such a silence.
        ended = next((at for at, _, _, event in entries if event.kind == "call_ended"), None)
        return ended if ended is not None or as_of_ns - entries[-1][0] <= silent_ns else entries[-1][0], None, 0
    for n, (at, _, _, event) in enumerate(entries):
        if last_ns is not None and at - last_ns > silent_ns:
            return (last_ns if ended is None else ended), at, len(entries) - n
        last_ns = at
        if ended is None and event.kind == "call_ended":
            ended = at
    if ended is None and last_ns is not None and as_of_ns - last_ns > silent_ns:
        ended = last_ns
    return ended, None, 0


def _moment(entry: Entry) -> int:
    return entry[0]
