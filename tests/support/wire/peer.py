"""A bare peer of our server: bytes out, frames in; it may break every rule."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

from namekeeper.wire.codec import CommandDecoder, encode_command
from namekeeper.wire.command import RemotingCommand, request
from tests.support.system.waiting import PATIENCE

__all__ = ["Peer", "connect", "trusting"]


class Peer:
    """One connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._decoder = CommandDecoder()
        self._received: list[RemotingCommand] = []

    async def send(self, data: bytes) -> None:
        """Send bytes as they are; ConnectionError if the server closed, also where uvloop says it otherwise."""
        try:
            self.writer.write(data)
        except RuntimeError as error:
            raise ConnectionResetError(str(error)) from None
        await self.writer.drain()

    async def answer(self) -> RemotingCommand:
        """Wait for the next frame."""
        while not self._received:
            data = await asyncio.wait_for(self.reader.read(65_536), 10 * PATIENCE)
            if not data:
                raise ConnectionResetError("closed by the server")
            self._received += self._decoder.feed(data)
        return self._received.pop(0)

    async def ask(self, code: int = 105, *, body: bytes = b"", opaque: int = 1) -> RemotingCommand:
        """Send a request and wait for its answer."""
        await self.send(encode_command(request(code, {"topic": "T"}, body, opaque=opaque)))
        return await self.answer()

    async def is_closed_by_server(self) -> bool:
        """Wait for the end of the stream; False if bytes come instead."""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            return not await asyncio.wait_for(self.reader.read(1), 10 * PATIENCE)
        return True

    async def close(self) -> None:
        """Leave."""
        self.writer.transport.abort()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


@contextlib.asynccontextmanager
async def connect(
    addr: object, *, tls: ssl.SSLContext | None = None, local_host: str | None = None
) -> AsyncIterator[Peer]:
    """Connect to `host:port`; only close it at the end."""
    host, _, port = str(addr).rpartition(":")
    local = (local_host, 0) if local_host else None
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=tls, local_addr=local)
    peer = Peer(reader, writer)
    try:
        yield peer
    finally:
        await peer.close()


def trusting() -> ssl.SSLContext:
    """Trust whatever the server shows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
