"""Records that come once each, counted many at a time: for jobs on what is final, where nothing is taken away again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures import talk_rules
from earwitness.monitor.measures.classes import Places
from earwitness.monitor.measures.histogram import UnlikeHistograms
from earwitness.monitor.measures.journal import Journal
from earwitness.monitor.measures.label_sets import LabelSets
from earwitness.monitor.measures.slots import CLASSES, ELIGIBLE, STRIDE, VALUES
from earwitness.monitor.measures.tally import Fields, Tallies, fields_of

MOST_GATHERED: Final = 2_000
"""Integers that are gathered at most."""


def gathered(
    records: Iterable[AnyRecord],
    rules: Mapping[str, Callable[[Fields], Tallies]],
    label_sets: LabelSets,
    places: Places,
    *,
    step_ns: int,
    bounds: str,
    seen: Callable[[Fields, int], None] | None = None,
) -> Iterator[tuple[int, Journal]]:
    """What records count for, as pieces of a journal with the wall time at which each begins: no piece reaches over the
    end of a step of ``step_ns``. ``seen`` is told of each record, and of its label set.

    Raises UnlikeHistograms at a record under other bounds; what came before it was given.
    """
    number_once, known = label_sets.number_once, label_sets.known
    is_plain = seen is None and rules.get("turn") is talk_rules.headline
    eligible, values = (places["response_latency"] + slot for slot in (ELIGIBLE, VALUES))
    index, piece = -1, Journal()
    for record in records:
        rule = rules.get(record.kind)
        if rule is None:
            continue
        at = record.event_wall_ns // step_ns
        is_alike = record.bounds == bounds
        if at != index or len(piece) > MOST_GATHERED or not is_alike:
            if piece:
                yield index * step_ns, piece
            index, piece = at, Journal()
        if not is_alike:
            raise UnlikeHistograms(f"a record under bounds {record.bounds} cannot be added to windows under {bounds}")
        number = known.get((record.agent, record.version, record.mode))
        if number is None:
            number = number_once(record)
        first = number * CLASSES * STRIDE
        if is_plain and record.kind == "turn" and not record.retracted:
            # Nearly all that such a job reads.
            latency_ns = talk_rules.plain_latency_ns(record)
            if latency_ns is not None:
                piece += (first + eligible, 1, first + values, latency_ns)
                continue
        fields = fields_of(record)
        if not record.retracted:
            for name, slot, amount in rule(fields):
                piece += (first + places[name] + slot, amount)
        if seen is not None:
            seen(fields, number)
    if piece:
        yield index * step_ns, piece
