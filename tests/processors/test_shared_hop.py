"""Jobs of many calls go to the thread together, and each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest
from pipecat_calls.virtual_clock import run_virtually, time_passes

from earwitness.processors.shared_hop import GATHER_S, SharedHop, shared_hop


class Counted(Executor):
    """A thread that counts what is submitted to it."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.pool, self.hops = pool, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.hops += 1
        return self.pool.submit(fn, *args, **kwargs)


@pytest.fixture
def thread() -> Iterator[Counted]:
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield Counted(pool)


def test_what_comes_within_the_time_goes_in_one_hop_and_in_order(thread: Counted) -> None:
    done: list[int] = []

    async def main() -> list[int]:
        hop: SharedHop[int] = SharedHop(thread)

        def job(number: int) -> int:
            done.append(number)
            return number * 2

        async def one(number: int) -> int:
            await time_passes(number * GATHER_S / 10)
            return await hop.submit(lambda: job(number))

        return await asyncio.gather(*(one(number) for number in range(9)))

    assert run_virtually(main()) == [number * 2 for number in range(9)]
    assert done == list(range(9))
    assert thread.hops == 1


def test_fifty_taps_hop_as_often_as_one(thread: Counted) -> None:
    async def main() -> None:
        async def tap(number: int) -> None:
            for _ in range(10):
                await time_passes(0.1 + number / 1_000)
                await shared_hop(thread).submit(lambda: None)

        await asyncio.gather(*(tap(number) for number in range(50)))

    run_virtually(main())
    assert thread.hops <= 2 / GATHER_S  # they are at it for 1.7 s


def test_an_error_comes_to_the_one_whose_job_it_was(thread: Counted) -> None:
    def fail() -> int:
        raise ZeroDivisionError("mine")

    async def main() -> list[int | BaseException]:
        hop: SharedHop[int] = SharedHop(thread)
        jobs: list[Callable[[], int]] = [lambda: 1, fail, lambda: 3]
        return await asyncio.gather(*(hop.submit(job) for job in jobs), return_exceptions=True)

    first, second, third = run_virtually(main())
    assert (first, third) == (1, 3)
    assert isinstance(second, ZeroDivisionError)


def test_one_that_cannot_wait_takes_the_others_along(thread: Counted) -> None:
    async def main() -> float:
        hop: SharedHop[int] = SharedHop(thread)
        waiting = hop.submit(lambda: 1)
        began_s = asyncio.get_running_loop().time()
        assert await hop.submit(lambda: 2, at_once=True) == 2
        assert await waiting == 1
        return asyncio.get_running_loop().time() - began_s

    assert run_virtually(main()) < GATHER_S
    assert thread.hops == 1


def test_a_thread_that_is_gone_is_told_to_each_and_raises_nowhere_else() -> None:
    pool = ThreadPoolExecutor(max_workers=1)
    pool.shutdown()

    async def main() -> list[int | BaseException]:
        hop: SharedHop[int] = SharedHop(pool)
        return list(await asyncio.gather(hop.submit(lambda: 1), hop.submit(lambda: 2), return_exceptions=True))

    assert [type(one) for one in run_virtually(main())] == [RuntimeError, RuntimeError]


def test_who_no_longer_waits_keeps_nobody_from_an_answer(thread: Counted) -> None:
    async def main() -> int:
        hop: SharedHop[int] = SharedHop(thread)
        given_up, other = hop.submit(lambda: 1), hop.submit(lambda: 2)
        given_up.cancel()
        return await other

    assert run_virtually(main()) == 2


def test_each_loop_has_a_way_of_its_own_and_each_thread_one(thread: Counted) -> None:
    async def main() -> SharedHop[Any]:
        assert shared_hop(thread) is shared_hop(thread)
        return shared_hop(thread)

    assert run_virtually(main()) is not run_virtually(main())
