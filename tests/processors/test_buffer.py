"""The buffer gives up the least first, in ranges, and never an end of a call."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from earwitness.processors.buffer import ITEM_OVERHEAD_BYTES, Buffer
from earwitness.processors.losses import Losses
from earwitness.processors.sink import Outbound

Event = Callable[..., Outbound]
ONE = 200 + ITEM_OVERHEAD_BYTES


def seqs(buffer: Buffer) -> list[int]:
    return [item.seq for item in buffer.take(10**9, 10**9).items]


def lost(losses: Losses) -> list[tuple[int, int, str]]:
    return [(r.first_seq, r.last_seq, r.reason) for call in losses.take() for r in call.ranges]


def small(event: Event, seq: int, droppable: int = 1) -> Outbound:
    item = event(seq, droppable=droppable)
    return Outbound(item.call_id, item.source, seq, item.kind, item.at_ns, item.wall_ns, b"x" * 200, droppable)


def test_events_leave_in_the_order_of_their_coming_whatever_their_worth(event: Event) -> None:
    buffer = Buffer(100 * ONE, Losses())
    for seq, droppable in enumerate([1, 2, 0, 1, 2, 2, 0, 1]):
        buffer.put(small(event, seq, droppable))
    assert buffer.take(10**9, 3) == ([small(event, 0, 1), small(event, 1, 2), small(event, 2, 0)], 3)
    assert buffer.take(400, 100).upto == 5
    assert seqs(buffer) == [5, 6, 7]
    assert (len(buffer), buffer.bytes, buffer.take(1, 1)) == (0, 0, ([], 8))


def test_the_first_event_calls_the_taker_and_so_does_much_of_it(event: Event) -> None:
    buffer = Buffer(100 * ONE, Losses(), wake_bytes=3 * ONE)
    assert [buffer.put(small(event, seq)) for seq in range(5)] == [True, False, True, False, False]
    buffer.take(10**9, 10**9)
    assert buffer.put(small(event, 5))


def test_oldest_interim_facts_go_first_then_the_oldest_others(event: Event) -> None:
    losses = Losses()
    buffer = Buffer(4 * ONE, losses)
    for seq, droppable in enumerate([1, 2, 1, 2]):
        buffer.put(small(event, seq, droppable))
    buffer.put(small(event, 4, 1))
    assert lost(losses) == [(1, 1, "buffer_full")]
    buffer.put(small(event, 5, 1))
    buffer.put(small(event, 6, 1))
    assert lost(losses) == [(0, 0, "buffer_full"), (3, 3, "buffer_full")]
    assert seqs(buffer) == [2, 4, 5, 6]


def test_an_interim_fact_drives_out_nothing_that_is_worth_more(event: Event) -> None:
    losses = Losses()
    buffer = Buffer(2 * ONE, losses)
    for seq, droppable in enumerate([1, 1, 2]):
        buffer.put(small(event, seq, droppable))
    assert lost(losses) == [(2, 2, "buffer_full")]
    assert seqs(buffer) == [0, 1]


def test_the_end_of_a_call_stays_even_where_nothing_else_does(event: Event) -> None:
    losses = Losses()
    buffer = Buffer(2 * ONE, losses, reserve_bytes=2 * ONE)
    for seq in range(4):
        buffer.put(small(event, seq, 0))
    buffer.put(small(event, 4, 1))
    assert seqs(buffer) == [0, 1, 2, 3]
    assert lost(losses) == [(4, 4, "buffer_full")]


def test_an_event_larger_than_the_buffer_drives_out_nothing(event: Event) -> None:
    losses = Losses()
    buffer = Buffer(4 * ONE, losses)
    buffer.put(small(event, 0))
    buffer.put(event(1, size=10_000))
    assert lost(losses) == [(1, 1, "buffer_full")]
    assert seqs(buffer) == [0]


def test_the_reason_of_a_loss_is_what_the_writer_meets_at_present(event: Event) -> None:
    losses = Losses()
    buffer = Buffer(ONE, losses)
    for seq, reason in enumerate(["buffer_full", "refused", "spool_full"]):
        buffer.reason = reason  # type: ignore[assignment]
        buffer.put(small(event, seq))
    assert lost(losses) == [(0, 0, "refused"), (1, 1, "spool_full")]


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(1, 10))
def test_every_event_is_either_kept_or_lost_and_never_both(worths: list[int], room: int) -> None:
    losses = Losses()
    buffer = Buffer(room * ONE, losses, reserve_bytes=3 * ONE)
    for seq, droppable in enumerate(worths):
        buffer.put(Outbound("call", "bot", seq, "x", seq, seq, b"x" * 200, droppable))
        assert buffer.bytes <= (room + 3) * ONE
    kept = seqs(buffer)
    gone = [seq for first, last, _ in lost(losses) for seq in range(first, last + 1)]
    assert kept == sorted(kept)
    assert sorted(kept + gone) == list(range(len(worths)))
    assert losses.total == len(gone)


def test_threads_that_put_at_once_lose_nothing(event: Event) -> None:
    buffer = Buffer(10**8, Losses())
    start = threading.Barrier(4)

    def put(worker: int) -> None:
        start.wait()
        for seq in range(2_000):
            buffer.put(small(event, worker * 10_000 + seq))

    threads = [threading.Thread(target=put, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    taken: list[int] = []
    while any(thread.is_alive() for thread in threads) or len(buffer):
        taken += [item.seq for item in buffer.take(50_000, 100).items]
    for worker in range(4):
        assert [seq % 10_000 for seq in taken if seq // 10_000 == worker] == list(range(2_000))
