"""A fixed rate, counted from start to start."""

import asyncio

from namekeeper.broker.fixed_rate import FixedRate
from tests.support.system.waiting import PATIENCE
from tests.unit.broker.parts import FakeTime


async def test_times_are_counted_from_start_to_start():
    time, seen = FakeTime(), []
    rate = FixedRate(30_000, first_ms=10_000, clock=time, sleep=time.sleep)
    start_ms = time.now().mono_ms

    async def run():
        while True:
            await rate.next()
            seen.append((time.now().mono_ms - start_ms) // 1000)
            await time.sleep(7)  # work that takes a while

    task = asyncio.create_task(run())
    await time.advance(101)
    task.cancel()
    assert seen == [10, 40, 70, 100]


async def test_what_was_missed_is_not_made_up_for():
    time = FakeTime()
    rate = FixedRate(10_000, first_ms=10_000, clock=time, sleep=time.sleep)
    await time.advance(35)
    await rate.next()  # due at 10, it is 35
    waiting = asyncio.create_task(rate.next())
    await time.advance(4)
    assert not waiting.done()
    await time.advance(2)
    await asyncio.wait_for(waiting, 10 * PATIENCE)


async def test_a_sleep_that_ends_early_is_no_reason_to_go_on():
    time = FakeTime()
    early = []

    async def sleep(seconds):
        early.append(seconds)
        await time.advance(seconds / 2 if len(early) < 3 else seconds)

    await FixedRate(1_000, first_ms=8_000, clock=time, sleep=sleep).next()
    assert early == [8, 4, 2]
