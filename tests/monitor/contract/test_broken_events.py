"""Event lines of which anything may be wrong, through the decoder into the fold."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from invented_calls import sound
from invented_calls.broken_files import event_log, spoiled
from invented_calls.effort import effort
from invented_calls.folded import at_once

from earwitness.monitor.calls.report import report
from earwitness.monitor.contract.decoder import decode_event_fast, decode_record_fast
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event, decode_record, encode

AT_WORST_NS = 2**70


@effort(60)
@given(st.randoms(use_true_random=False))
def test_what_can_be_read_folds_soundly_and_the_rest_is_refused(chance: random.Random) -> None:
    read: list[Any] = []
    for line in event_log(chance).splitlines():
        data = spoiled(chance, line) if chance.randrange(4) == 0 else line
        try:
            event = decode_event_fast(data)
        except UnreadableRecord:
            continue
        assert decode_event(data).model_dump(exclude={"v"}).keys() >= {"call_id", "source", "seq"}
        read.append(event)
    records = at_once(read, AT_WORST_NS).records()
    sound.check_no_impossible_duration(records, AT_WORST_NS)
    sound.check_no_impossible_moment(records, AT_WORST_NS)
    sound.check_parts_sum_to_the_whole(records, read)
    sound.check_nothing_is_counted_twice(records)
    report(records)
    for record in records:
        written = encode(record)
        assert decode_record(written) == record
        assert decode_record_fast(written).id == record.id
