"""Answers over TLS go out in pieces, so that no connection keeps a buffer of the size of its largest answer."""

import asyncio
import gc
import weakref

import pytest

from namekeeper.remoting import tls_pieces
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.remoting.tls_memory import QUIET_BYTES, TlsMemory
from namekeeper.remoting.tls_pieces import PIECE_BYTES, UNREAD_BYTES, TlsPieces
from namekeeper.remoting.tls_reads import TlsReads

HIGH, LOW = 4, 1


class Protocol(asyncio.Protocol):
    peer = ("10.0.0.1", False)
    has_broker = False

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.transport: asyncio.BaseTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.calls.append(f"data {data!r}")

    def eof_received(self) -> None:
        self.calls.append("eof")

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append(f"lost {exc}")

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")


class TlsTransport(asyncio.Transport):
    """Calls its protocol as uvloop's TLS transport does, from within `write`."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__({"sslcontext": "tls"})
        self._protocol = protocol
        self.read_limit: int | None = None
        """Most bytes that it keeps while the protocol reads nothing."""
        self.largest = 0
        """Most bytes that its buffer had."""
        self.read = b""
        self.unread = b""
        self.calls: list[str] = []
        self._is_paused = False
        protocol.connection_made(self)

    def set_read_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.read_limit = high

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.unread += bytes(data)
        self.largest = max(self.largest, len(self.unread))
        if len(self.unread) >= HIGH and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()

    def be_read(self) -> None:
        """The peer reads all."""
        self.read, self.unread = self.read + self.unread, b""
        if self._is_paused:
            self._is_paused = False
            self._protocol.resume_writing()

    def get_write_buffer_size(self) -> int:
        return len(self.unread)

    def is_closing(self) -> bool:
        return "close" in self.calls

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")

    def pause_reading(self) -> None:
        self.calls.append("pause reading")

    def resume_reading(self) -> None:
        self.calls.append("resume reading")


@pytest.fixture
def protocol():
    return Protocol()


@pytest.fixture
def transport(protocol, monkeypatch):
    monkeypatch.setattr(tls_pieces, "PIECE_BYTES", 2)
    return TlsTransport(TlsPieces(protocol, TlsReads(Scheduler()), TlsMemory()))


def test_a_large_answer_never_is_in_the_buffer_as_a_whole(protocol, transport):
    answer = bytes(range(100))
    protocol.transport.write(answer)
    assert protocol.transport.get_write_buffer_size() == 100
    for _ in range(25):
        assert protocol.calls == ["pause"]
        transport.be_read()
    assert transport.read == answer
    assert transport.largest == HIGH
    assert protocol.transport.get_write_buffer_size() == 0
    assert protocol.calls == ["pause", "resume"]


def test_answers_keep_their_order_also_while_the_peer_is_slow(protocol, transport):
    for answer in (b"a", b"bcdefg", b"h", b"", b"ij"):
        protocol.transport.write(answer)
    assert transport.largest <= HIGH + 1
    for _ in range(4):
        transport.be_read()
    assert transport.read == b"abcdefghij"
    assert protocol.calls == ["pause", "resume"]


def test_a_small_answer_passes_at_once(protocol, transport):
    protocol.transport.write(b"a")
    assert transport.unread == b"a"
    assert protocol.calls == []


def test_it_closes_when_all_is_written(protocol, transport):
    protocol.transport.write(b"abcdefg")
    assert not protocol.transport.is_closing()
    protocol.transport.close()
    assert protocol.transport.is_closing()
    assert transport.calls == []
    transport.be_read()
    assert transport.calls == ["close"]
    assert transport.read + transport.unread == b"abcdefg"


def test_an_abort_drops_what_waits(protocol, transport):
    protocol.transport.write(b"abcdefg")
    protocol.transport.abort()
    transport.be_read()
    assert transport.calls == ["abort"]
    assert transport.read == b"abcd"
    assert protocol.transport.get_write_buffer_size() == 0


async def test_all_else_passes_both_ways(protocol, transport):
    pieces = transport._protocol
    pieces.data_received(b"x")
    pieces.eof_received()
    pieces.connection_lost(None)
    assert protocol.calls == ["data b'x'", "eof", "lost None"]
    protocol.transport.pause_reading()
    protocol.transport.resume_reading()
    assert transport.calls == ["pause reading", "resume reading"]
    assert not pieces.go_on()
    assert protocol.transport.get_extra_info("sslcontext") == "tls"


def test_it_decrypts_if_both_the_protocol_and_its_turn_allow_it(protocol, transport):
    pieces = transport._protocol
    pieces.pause_decrypting()
    pieces.pause_reading()
    pieces.resume_reading()
    assert transport.calls == ["pause reading"] * 2
    assert pieces.go_on()
    assert transport.calls.pop() == "resume reading"
    pieces.pause_decrypting()
    pieces.pause_reading()
    assert pieces.go_on()
    assert transport.calls == ["pause reading"] * 4
    pieces.resume_reading()
    assert transport.calls.pop() == "resume reading"


def test_a_lost_connection_needs_no_collector():
    protocol = Protocol()
    transport = TlsTransport(TlsPieces(protocol, TlsReads(Scheduler()), TlsMemory()))
    transport._protocol.connection_lost(None)
    seen = weakref.ref(protocol)
    gc.disable()
    try:
        del protocol
        assert seen() is None
    finally:
        gc.enable()


def test_a_piece_is_smaller_than_what_a_peer_may_leave_unread():
    assert PIECE_BYTES <= 256 * 1024


def test_the_transport_keeps_little_of_what_is_not_read_but_a_whole_record(transport):
    assert transport.read_limit == UNREAD_BYTES
    assert UNREAD_BYTES > 5 + 16_384 + 256  # else it would wait for the rest of a record, and never read it


async def test_a_connection_takes_the_memory_of_its_largest_read_and_write_until_its_end(protocol):
    memory = TlsMemory()
    pieces = TlsPieces(protocol, TlsReads(Scheduler()), memory)
    transport = TlsTransport(pieces)
    assert memory.bytes == QUIET_BYTES
    for size in (100, 5):
        pieces.data_received(bytes(size))
        assert memory.bytes == QUIET_BYTES + 200
    for size in (3, 1):
        protocol.transport.write(bytes(size))
        transport.be_read()
        assert memory.bytes == QUIET_BYTES + 203
    protocol.transport.write(bytes(2))
    protocol.transport.write(bytes(2))
    assert memory.bytes == QUIET_BYTES + 204
    pieces.connection_lost(None)
    assert memory.bytes == 0
