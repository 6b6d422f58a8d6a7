"""The loops of the tests check what asyncio's debug mode checks, and take less of a processor."""

import asyncio
import threading

import pytest
from blockbuster import BlockingError

from namekeeper.cli.journals import journals_of_this_host
from tests.support.system.loops import both_loops, leap, leaping_time, virtual_time

each_loop = pytest.mark.parametrize(
    "anyio_backend", [*both_loops.args[1], *virtual_time.args[1], *leaping_time.args[1]]
)


def _call_from_a_thread(loop: asyncio.AbstractEventLoop) -> list[RuntimeError]:
    errors: list[RuntimeError] = []

    def call() -> None:
        try:
            loop.call_soon(print)
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return errors


@each_loop
async def test_a_call_from_another_thread_is_refused():
    assert "Non-thread-safe" in str(_call_from_a_thread(asyncio.get_running_loop())[0])


async def test_a_coroutine_is_no_callback():
    loop = asyncio.get_running_loop()
    with pytest.raises(TypeError, match="coroutines cannot be used"):
        loop.call_soon(test_our_code_may_not_block_the_loop)


@each_loop
async def test_no_note_of_the_stack_is_made():
    assert "created at" not in repr(asyncio.get_running_loop().create_future())


async def test_our_code_may_not_block_the_loop(tmp_path):
    with pytest.raises(BlockingError):
        journals_of_this_host([tmp_path])


@leaping_time
async def test_a_leap_ends_the_limits_that_run_and_no_later_one():
    async def leap_and_wait():
        leap(3_600)
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(leap_and_wait(), 3_600)
    await asyncio.wait_for(asyncio.sleep(0), 3_600)
