"""Runs blocking functions beside an event loop, by threads that the end of the process does not wait for.

`asyncio.to_thread` has a pool whose threads the end of the loop and of the process wait for. That is right
for short work. A function that reads a journal of gigabytes, or waits for the DNS or a hanging disk, would
hold up a stop.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["DaemonThreads"]

T = TypeVar("T")


class DaemonThreads:
    """Runs some functions at once for one event loop; further callers wait.

    A caller that is cancelled gives up the result. The function goes on, and keeps its slot until it ends. So
    a function must not hold what a stop needs.

    Args:
        name: of the threads.
        at_once: largest number of functions that run.
    """

    def __init__(self, name: str, at_once: int) -> None:
        self._name = name
        self._slots = asyncio.Semaphore(at_once)

    async def run(self, function: Callable[..., T], *args: object) -> T:
        """Return what a function returns, or raise what it raises.

        Raises:
            RuntimeError: the system has no more threads.
        """
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            end: Callable[[], object]
            try:
                result = function(*args)
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                failure = error
                end = lambda: answer.set_exception(failure)  # noqa: E731
            else:
                end = lambda: answer.set_result(result)  # noqa: E731
            with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
                loop.call_soon_threadsafe(self._end, answer, end)

        thread = threading.Thread(target=work, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._slots.release()
            raise
        return await answer

    def _end(self, answer: "asyncio.Future[Any]", end: Callable[[], object]) -> None:
        self._slots.release()
        if not answer.done():  # else its caller has given up
            end()
