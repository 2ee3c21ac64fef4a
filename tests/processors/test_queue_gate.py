"""The gate before an observer's queue, by itself: what it lets in, and when it stands aside."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

from pipecat.frames.frames import EndFrame, InputAudioRawFrame
from pipecat.observers.base_observer import FrameProcessed, FramePushed
from pipecat.processors.frame_processor import FrameDirection

from earwitness.processors.queue_gate import QueueGate


def a_push() -> FramePushed:
    nobody: Any = None
    frame = InputAudioRawFrame(bytes(640), 16_000, 1)
    return FramePushed(source=nobody, destination=nobody, frame=frame, direction=FrameDirection.DOWNSTREAM, timestamp=1)


def a_processing(kind: type[Any] = FrameProcessed) -> Any:
    return kind(processor=None, frame=EndFrame(), direction=FrameDirection.DOWNSTREAM, timestamp=1)


def left_in(queue: Any) -> list[Any]:
    return [queue.get_nowait() for _ in range(queue.qsize())]


def test_what_is_of_another_kind_is_queued(run: Any) -> None:
    class Pushed(FramePushed): ...

    class Processed(FrameProcessed): ...

    async def story() -> None:
        queue: Any = asyncio.Queue()
        noted: list[Any] = []

        def note(data: Any) -> bool:
            noted.append(data)
            return True

        gate = QueueGate(note, faults.append)
        gate.put_on(queue)
        nobody: Any = None
        others = [
            object(),
            Pushed(source=nobody, destination=nobody, frame=EndFrame(), direction=FrameDirection.UPSTREAM, timestamp=1),
            a_processing(Processed),
            None,
        ]
        push = a_push()
        await queue.put(push)
        await queue.put(a_processing())
        assert (noted, queue.qsize()) == ([push], 0)
        for item in others:
            await queue.put(item)
        assert left_in(queue) == others
        assert noted == [push]

    faults: list[Exception] = []
    run(story())
    assert faults == []


def test_no_push_overtakes_what_waits(run: Any) -> None:
    async def story() -> None:
        queue: Any = asyncio.Queue()
        asked: list[Any] = []

        def note(data: Any) -> bool:
            asked.append(data)
            return True

        QueueGate(note, lambda _: None).put_on(queue)
        first, second = object(), a_push()
        await queue.put(first)
        await queue.put(second)
        await queue.put(a_processing())
        assert left_in(queue) == [first, second]
        assert asked == []

    run(story())


def test_a_fault_that_cannot_even_be_told_does_not_reach_the_pipeline(run: Any) -> None:
    def fails(_: Any) -> NoReturn:
        raise RuntimeError("a bug of ours")

    async def story() -> None:
        queue: Any = asyncio.Queue()
        QueueGate(fails, fails).put_on(queue)
        items = [a_push(), a_push(), a_processing()]
        for item in items:
            await queue.put(item)
        assert left_in(queue) == items
        assert "put" not in vars(queue)

    run(story())


def test_a_queue_that_is_not_as_we_know_it_is_left_alone(run: Any) -> None:
    class Another(asyncio.Queue[Any]): ...

    async def put(item: Any) -> None: ...

    async def story() -> None:
        taken: Any = asyncio.Queue()
        taken.put = put
        for queue in (Another(), asyncio.LifoQueue[Any](), asyncio.Queue[Any](5), taken, None, object()):
            before = getattr(queue, "put", None)
            gate = QueueGate(lambda _: True, lambda _: None)
            gate.put_on(queue)
            assert getattr(queue, "put", None) == before
            gate.take_off()
        assert taken.put is put

    run(story())


def test_whoever_puts_another_put_over_ours_keeps_it(run: Any) -> None:
    async def story() -> None:
        queue: Any = asyncio.Queue()
        gate = QueueGate(lambda _: True, lambda _: None)
        gate.put_on(queue)
        ours = queue.put

        async def over(item: Any) -> None:
            await ours(item)

        queue.put = over
        gate.take_off()
        items = [a_push(), a_processing()]
        for item in items:
            await queue.put(item)
        assert queue.put is over
        assert left_in(queue) == items
        gate.put_on(asyncio.Queue())  # what is over stays over
        assert gate._queue is None

    run(story())
