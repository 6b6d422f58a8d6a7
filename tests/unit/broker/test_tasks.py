"""Tasks that end with their owner, and never fail unseen."""

import asyncio
import logging

from namekeeper.broker.tasks import Tasks
from tests.support.system.loops import virtual_time
from tests.support.system.waiting import turns


async def forever():
    await asyncio.Event().wait()


async def test_what_runs_ends_with_its_owner():
    tasks = Tasks()
    task = tasks.spawn(forever())
    tasks.start(forever())
    await turns()
    await tasks.cancel()
    assert task.cancelled()
    await tasks.cancel()


@virtual_time
async def test_waiting_has_an_end():
    tasks = Tasks()
    await tasks.wait(timeout_ms=1_000_000)
    running = tasks.spawn(forever())
    await tasks.wait(timeout_ms=10)
    assert not running.done()
    done = tasks.spawn(asyncio.sleep(0, "done"))
    await tasks.cancel()
    assert done.cancelled() or done.result() == "done"


async def test_a_failure_is_a_line_in_the_log(caplog):
    async def fail():
        raise RuntimeError("a bug")

    tasks = Tasks()
    with caplog.at_level(logging.ERROR, "namekeeper.broker"):
        tasks.start(fail())
        await turns()
    assert "a bug" in caplog.text
