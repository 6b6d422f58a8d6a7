"""Turns for work that takes long: few at a time, and at most one of each host, so that hosts alternate."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from namekeeper.remoting.address import sharing_host

__all__ = ["HostTurns"]


class HostTurns:
    """Shares turns between hosts. A host with many requests waits for itself, not other hosts for it.

    Args:
        limit: turns at a time.
    """

    def __init__(self, limit: int) -> None:
        self._all = asyncio.Semaphore(limit)
        self._of_hosts: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Host -> the lock of its requests, as long as it has requests."""

    @asynccontextmanager
    async def of(self, host: str) -> AsyncIterator[None]:
        """Wait for a turn of a host, and hold it."""
        host = sharing_host(host)
        lock = self._of_hosts.get(host)
        if lock is None:
            lock = self._of_hosts[host] = asyncio.Lock()
        async with lock, self._all:
            yield
