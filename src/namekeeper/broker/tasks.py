"""The tasks of one owner: none is forgotten, none fails unseen, all end with their owner."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["Tasks"]

T = TypeVar("T")

_log = logging.getLogger("namekeeper.broker")


class Tasks:
    """Tasks that were started and have not ended."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start something, and return what to wait for."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Start something that nobody waits for."""
        self.spawn(work).set_name("broker")

    async def wait(self, *, timeout_ms: int) -> None:
        """Wait until all have ended, at most so long."""
        if self._running:
            await asyncio.wait(self._running, timeout=timeout_ms / 1000)

    async def cancel(self) -> None:
        """End all that still run."""
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("what runs for a broker has failed", exc_info=error)
