"""A transport without a socket: what is written is kept, what the peer reads is up to the test."""

import asyncio

__all__ = ["DESCRIPTOR", "MemoryTransport"]


DESCRIPTOR = 77
"""What a transport says that its socket has."""


class MemoryTransport(asyncio.Transport):
    """One end of a connection, joined to a protocol by hand."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.peer_reads = True
        self.writes: list[bytes] = []
        """What reached the peer, one item for each write."""
        self.buffer: list[bytes] = []
        """What was written while the peer didn't read."""
        self.is_reading_now = True
        self.is_closed = False
        self.is_aborted = False
        self._high = 64 * 1024
        self._is_paused = False
        protocol.connection_made(self)

    # The protocol's side.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_aborted
        (self.writes if self.peer_reads else self.buffer).append(bytes(data))
        if self.get_write_buffer_size() > self._high and not self._is_paused:
            self._is_paused = True
            self.protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high if high is not None else self._high

    def get_extra_info(self, name: str, default: object = None) -> object:
        return {"socket": self}.get(name, default)

    def fileno(self) -> int:
        return DESCRIPTOR

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.buffer))

    def pause_reading(self) -> None:
        assert self.is_reading_now
        self.is_reading_now = False

    def resume_reading(self) -> None:
        assert not self.is_reading_now
        self.is_reading_now = True

    def is_reading(self) -> bool:
        return self.is_reading_now

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            if not self.buffer:
                asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def abort(self) -> None:
        if not self.is_aborted:
            was_lost = self.is_closed and not self.buffer
            self.is_closed = self.is_aborted = True
            self.buffer.clear()
            if not was_lost:
                asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    # The peer's side.

    def deliver(self, data: bytes) -> None:
        """Bytes arrive; only while they are read."""
        assert self.is_reading_now
        assert not self.is_closed
        self.protocol.data_received(data)

    def read_everything(self) -> None:
        """The peer reads what waited, and goes on reading."""
        self.peer_reads = True
        was_flushing = self.is_closed and bool(self.buffer)
        self.writes += self.buffer
        self.buffer.clear()
        if self._is_paused:
            self._is_paused = False
            self.protocol.resume_writing()
        if was_flushing:
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def end_of_stream(self) -> None:
        """The peer closes its half."""
        if not self.protocol.eof_received():
            self.close()

    @property
    def written(self) -> bytes:
        """All that reached the peer."""
        return b"".join(self.writes)
