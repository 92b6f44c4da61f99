import asyncio

import pytest

from controlplane.demo.pool import SLICE_S, Job, WorkerPool


def run_jobs(pool: WorkerPool, durations_s: list[float]) -> list[tuple[int, asyncio.Event]]:
    done: list[tuple[int, asyncio.Event]] = []
    for number, duration_s in enumerate(durations_s):
        event = asyncio.Event()
        assert pool.submit(Job(duration_s=duration_s, on_done=event.set))
        done.append((number, event))
    return done


async def test_jobs_wait_for_a_worker_in_order_of_arrival() -> None:
    loop = asyncio.get_running_loop()
    pool = WorkerPool(2, 10, loop)
    start_s = loop.time()
    ends_s: dict[int, float] = {}
    for number in range(4):
        pool.submit(
            Job(duration_s=0.04, on_done=lambda n=number: ends_s.update({n: loop.time() - start_s}))
        )
    await asyncio.sleep(0.12)
    assert list(ends_s) == [0, 1, 2, 3]
    assert ends_s[1] == pytest.approx(0.04, abs=0.02)
    assert ends_s[3] == pytest.approx(0.08, abs=0.02)


async def test_busy_time_is_the_work_that_was_done() -> None:
    pool = WorkerPool(2, 10, asyncio.get_running_loop())
    for _, event in run_jobs(pool, [0.03, 0.02, 0.03]):
        await event.wait()
    await asyncio.sleep(0.01)
    assert pool.busy_worker_s() == pytest.approx(0.08, abs=0.02)


async def test_a_full_queue_refuses() -> None:
    pool = WorkerPool(1, 1, asyncio.get_running_loop())
    assert [pool.submit(Job(duration_s=0.01)) for _ in range(3)] == [True, True, False]


async def test_a_cancelled_job_costs_nothing() -> None:
    pool = WorkerPool(1, 5, asyncio.get_running_loop())
    given_up = Job(duration_s=5.0)
    first, last = asyncio.Event(), asyncio.Event()
    pool.submit(Job(duration_s=0.01, on_done=first.set))
    pool.submit(given_up)
    pool.submit(Job(duration_s=0.01, on_done=last.set))
    given_up.cancelled = True
    await asyncio.wait_for(last.wait(), 1.0)
    assert first.is_set()


async def test_slices_keep_the_busy_share() -> None:
    pool = WorkerPool(2, 5, asyncio.get_running_loop())
    pool.submit(Job(duration_s=1.0))
    await asyncio.sleep(SLICE_S)
    pool.close_slice()
    assert pool.slices[-1] == pytest.approx(0.5, abs=0.1)
    assert pool.slice_count == 1
