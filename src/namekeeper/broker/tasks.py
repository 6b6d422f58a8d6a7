"""The tasks of one owner: failures are logged, and all tasks can be cancelled together."""

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

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a coroutine as a task."""
        task = asyncio.create_task(coroutine)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def start(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Start a coroutine that nobody waits for."""
        self.spawn(coroutine).set_name("broker")

    async def wait(self, *, timeout_ms: int) -> None:
        """Wait until all have ended, or the time is up."""
        if self._running:
            await asyncio.wait(self._running, timeout=timeout_ms / 1000)

    async def cancel(self) -> None:
        """Cancel all that still run, and wait for them."""
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a task of the broker registrar has failed", exc_info=error)
