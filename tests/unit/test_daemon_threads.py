import asyncio
import threading
from collections.abc import Callable

import pytest
import uvloop

from namekeeper.daemon_threads import DaemonThreads
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually, turns


@both_loops
async def test_a_function_gives_its_result_or_raises_its_error() -> None:
    threads = DaemonThreads("worker", 1)
    assert await threads.run(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await threads.run(divmod, 7, 0)
    assert await threads.run(lambda: threading.current_thread().name) == "worker"


async def test_few_functions_run_at_once_and_keep_their_slots_when_a_caller_gives_up() -> None:
    started: list[int] = []
    may_end = threading.Event()
    threads = DaemonThreads("worker", 2)

    def work(number: int) -> int:
        started.append(number)
        may_end.wait()
        return number

    tasks = [asyncio.create_task(threads.run(work, number)) for number in range(5)]
    await eventually(lambda: len(started) == 2)
    for task in tasks[:3]:
        task.cancel()
    await asyncio.gather(*tasks[:3], return_exceptions=True)
    await turns()
    assert started == [0, 1]
    may_end.set()
    assert await asyncio.gather(*tasks[3:]) == [3, 4]
    assert started == [0, 1, 3, 4]


@pytest.mark.parametrize("loop_factory", [asyncio.SelectorEventLoop, uvloop.Loop])
def test_the_end_of_the_loop_waits_for_no_thread(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    may_end, working = threading.Event(), threading.Event()

    def work() -> None:
        working.set()
        may_end.wait()

    async def give_up() -> None:
        task = asyncio.create_task(DaemonThreads("worker", 1).run(work))
        await eventually(working.is_set)
        task.cancel()

    def run() -> None:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(give_up())

    ended = threading.Thread(target=run, daemon=True)
    ended.start()
    try:
        ended.join(10 * PATIENCE)
        assert not ended.is_alive()
    finally:
        may_end.set()


@both_loops
async def test_functions_that_get_no_thread_leave_the_others_their_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = DaemonThreads("worker", 1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            await threads.run(int)
    assert await threads.run(int) == 0
