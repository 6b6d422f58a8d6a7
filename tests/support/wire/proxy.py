"""A TCP proxy between two peers that breaks on demand: delays, cuts, drops, half-opens."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

__all__ = ["BreakableProxy"]


class BreakableProxy:
    """Listens on a free port of 127.0.0.1 and carries bytes to and from `target`, as long as it is allowed to."""

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server
        self._flows = asyncio.Event()
        self._flows.set()
        self.delay_seconds = 0.0
        """Each piece of bytes arrives so much later."""
        self.refuses = False
        """New connections are closed on arrival."""
        self.drops_answers = False
        """What the target sends is lost."""
        self.drops_requests = False
        """What the target is sent is lost."""
        self.accepted = 0
        self.bytes_to_target = 0
        self.bytes_from_target = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.cut()
        await self._server.wait_closed()

    @property
    def addr(self) -> str:
        """Where to connect instead of the target."""
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    async def cut(self) -> None:
        """Reset every connection."""
        for writer in tuple(self._writers):
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        self._writers.clear()

    def hold(self) -> None:
        """Carry nothing until `release`: to both ends the other is there and silent, as behind a dead link."""
        self._flows.clear()

    def release(self) -> None:
        """Carry on."""
        self._flows.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if not self.refuses:
                await self._carry_both_ways(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _carry_both_ways(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(self._host, self._port)
        except OSError:  # the target is gone
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(
                self._carry(reader, back, to_target=True), self._carry(there, writer, to_target=False)
            )
        except OSError:
            pass
        finally:
            self._writers -= {writer, back}
            back.transport.abort()

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_target: bool
    ) -> None:
        while data := await reader.read(65_536):
            await self._flows.wait()
            if self.delay_seconds:
                await asyncio.sleep(self.delay_seconds)
            if to_target:
                self.bytes_to_target += len(data)
            else:
                self.bytes_from_target += len(data)
            if not (self.drops_requests if to_target else self.drops_answers):
                writer.write(data)
                await writer.drain()
        await self._flows.wait()
        writer.transport.abort()
