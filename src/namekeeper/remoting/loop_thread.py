"""An event loop in a thread of its own, for callers that have none: scripts, threads, Spark's executors.

A process has at most one such thread. A forked child starts its own, and closes its copies of its parent's
sockets: otherwise a connection that the parent closes would stay open for as long as the child lives.
"""

import asyncio
import atexit
import concurrent.futures
import os
import selectors
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["LoopThread", "loop_thread"]

T = TypeVar("T")

STOP_SECONDS = 5.0
"""Time in which running coroutines must end when the process ends."""


class LoopThread:
    """Runs coroutines for other threads; started at once, stopped by `stop` or with the process."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._loop = asyncio.SelectorEventLoop(self._selector)
        self._thread = threading.Thread(target=self._run, name="namekeeper-loop", daemon=True)
        self._pid = os.getpid()
        self._thread.start()

    @property
    def is_usable(self) -> bool:
        """Whether `run` works: false once it is stopped, and in a forked child, where there is no thread."""
        return self._pid == os.getpid() and self._thread.is_alive() and not self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T], *, timeout_seconds: float | None) -> T:
        """Run a coroutine in the thread and return its result.

        Args:
            work: never awaited if this raises RuntimeError.
            timeout_seconds: None for work that has a deadline of its own.

        Raises:
            TimeoutError: it took longer; it is cancelled.
            RuntimeError: called from the thread itself, which would wait for itself, or the thread is gone.
        """
        if threading.current_thread() is self._thread or not self.is_usable:
            work.close()
            why = "it is gone" if threading.current_thread() is not self._thread else "this is that thread"
            raise RuntimeError(f"can't wait for the loop thread: {why}; inside a loop use the async form")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_seconds)
        except concurrent.futures.CancelledError:
            raise RuntimeError("the loop thread was stopped meanwhile") from None
        except BaseException:  # also KeyboardInterrupt: the caller has given up
            future.cancel()
            raise

    def stop(self) -> None:
        """Cancel running work, end the thread; may be called twice, and does nothing in a forked child."""
        if self.is_usable and threading.current_thread() is not self._thread:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_SECONDS)

    def let_go(self) -> None:
        """In a forked child: close its copies of the parent's sockets, and leave the parent's loop alone.

        The loop's own methods would affect the parent, because both share an epoll set. So each descriptor is
        replaced, and a later close only closes the replacement.
        """
        nothing = os.open(os.devnull, os.O_RDWR)
        for key in list(self._selector.get_map().values()):
            os.dup2(nothing, key.fd, inheritable=False)
        os.close(nothing)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_end_tasks())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


async def _end_tasks() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Process:
    """The loop thread of this process, if there is one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: LoopThread | None = None

    def forked(self) -> None:
        """Reset in the child; a thread that does not exist there may hold the lock."""
        inherited, self.thread = self.thread, None
        self.lock = threading.Lock()
        if inherited is not None:
            inherited.let_go()

    def stop(self) -> None:
        """End the thread with the process."""
        if self.thread is not None:
            self.thread.stop()


_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forked)
atexit.register(_process.stop)


def loop_thread() -> LoopThread:
    """Return the loop thread of this process; it is made at first use, and anew in a forked child."""
    with _process.lock:
        if _process.thread is None or not _process.thread.is_usable:
            _process.thread = LoopThread()
        return _process.thread
