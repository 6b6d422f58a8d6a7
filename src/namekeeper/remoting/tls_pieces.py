"""Writes answers over TLS in pieces, each when the peer has read most of what came before; reads in turn.

A TLS transport encrypts at once whatever it is given, into a buffer that never shrinks. A list of 10 MB would
take 14 MB until the end of the connection, and a peer can ask for it over any number of connections.
"""

import asyncio
from collections import deque
from typing import Any, cast

from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.scheduler import Peer
from namekeeper.remoting.tls_memory import TlsMemory, estimated_bytes
from namekeeper.remoting.tls_reads import TlsReads

__all__ = ["PIECE_BYTES", "UNREAD_BYTES", "TlsPieces"]

PIECE_BYTES = 64 * 1024
"""Most bytes of an answer that the TLS transport gets at once, beyond its high water mark."""
UNREAD_BYTES = 32 * 1024
"""Most encrypted bytes that the TLS transport keeps while the protocol reads nothing, beyond one read of the
socket. A record has up to 16,645 bytes: one that has not arrived in full must never stop the reading."""


class TlsPieces(asyncio.Transport, asyncio.Protocol):
    """Stands between a protocol and its TLS transport: to each of them it is the other.

    Args:
        protocol: reads and writes plain bytes.
        reads: decides when the connection decrypts.
        memory: of all TLS connections.
    """

    __slots__ = (
        "_has_to_wait",
        "_is_closing",
        "_is_lost",
        "_is_paused",
        "_is_slow",
        "_is_told",
        "_largest_read",
        "_largest_write",
        "_memory",
        "_protocol",
        "_reads",
        "_transport",
        "_waiting",
        "_waiting_bytes",
    )

    def __init__(self, protocol: ServerConnection, reads: TlsReads, memory: TlsMemory) -> None:
        super().__init__()
        self._protocol = protocol
        self._reads = reads
        self._memory = memory
        self._largest_read = self._largest_write = 0
        self._transport: asyncio.Transport
        self._is_slow = False
        """Whether the transport has more than its high water mark."""
        self._is_told = False
        """Whether the protocol knows that the peer is slow."""
        self._is_closing = False
        self._is_lost = False
        self._is_paused = False
        """Whether the protocol wants to read nothing."""
        self._has_to_wait = False
        """Whether other connections decrypt first."""
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        cast("Any", transport).set_read_buffer_limits(UNREAD_BYTES)
        self._reads.add(self)
        self._protocol.connection_made(self)
        self._count_memory()

    def data_received(self, data: bytes) -> None:
        """Pass bytes on."""
        self._reads.note()
        if len(data) > self._largest_read:
            self._largest_read = len(data)
            self._count_memory()
        self._protocol.data_received(data)

    def eof_received(self) -> None:
        """Pass the end on."""
        self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the pieces that wait."""
        self._is_lost = True
        self._reads.discard(self)
        self._memory.let_go(self._protocol, self._protocol.peer[0])
        self._drop()
        self._protocol.connection_lost(exc)
        del self._protocol  # it refers to this object: memory returns without the collector

    def pause_writing(self) -> None:
        """Keep further pieces here."""
        self._is_slow = True
        if not self._is_told:
            self._is_told = True
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Write pieces that wait; when none is left, the protocol goes on."""
        self._is_slow = False
        self._write_on()
        if not self._is_slow and self._is_told:
            self._is_told = False
            self._protocol.resume_writing()

    # Called in turn with other connections.

    @property
    def peer(self) -> Peer:
        """The host that the connection counts for, and whether a broker is registered over it."""
        return self._protocol.peer

    def pause_decrypting(self) -> None:
        """Decrypt nothing."""
        self._has_to_wait = True
        self._transport.pause_reading()

    def go_on(self) -> bool:
        """Decrypt again, unless the protocol wants nothing; returns whether the connection is open."""
        self._has_to_wait = False
        if not self._is_lost and not self._is_paused:
            self._transport.resume_reading()
        return not self._is_lost

    # Called by the protocol.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write, or keep what has to wait."""
        if not self._is_slow and len(data) <= PIECE_BYTES:
            self._write_piece(data)
            return
        self._waiting.append(memoryview(data))
        self._waiting_bytes += len(data)
        self._write_on()

    def close(self) -> None:
        """Close after the pieces that wait have gone out."""
        self._is_closing = True
        self._write_on()

    def abort(self) -> None:
        """Close at once."""
        self._drop()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it closes or is closed."""
        return self._is_closing or self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        """Bytes that the peer has not read, beyond the kernel's buffers."""
        return self._waiting_bytes + self._transport.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the water marks of the transport, in bytes."""
        self._transport.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        """Read nothing from the peer."""
        self._is_paused = True
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read from the peer again, unless other connections are first."""
        self._is_paused = False
        if not self._has_to_wait:
            self._transport.resume_reading()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Return information of the transport about the connection."""
        return self._transport.get_extra_info(name, default)

    def _write_on(self) -> None:
        while self._waiting and not self._is_slow:
            piece = self._waiting.popleft()
            if len(piece) > PIECE_BYTES:
                self._waiting.appendleft(piece[PIECE_BYTES:])
                piece = piece[:PIECE_BYTES]
            self._waiting_bytes -= len(piece)
            self._write_piece(piece)
        if self._is_closing and not self._waiting:
            self._transport.close()

    def _write_piece(self, piece: bytes | bytearray | memoryview) -> None:
        self._transport.write(piece)
        size = max(len(piece), self._transport.get_write_buffer_size())
        if size > self._largest_write and not self._is_lost:
            self._largest_write = size
            self._count_memory()

    def _count_memory(self) -> None:
        size = estimated_bytes(self._largest_read, self._largest_write)
        self._memory.keep(self._protocol, self._protocol.peer[0], size)

    def _drop(self) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0
