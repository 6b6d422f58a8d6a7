"""A connection that ended says who closed it: the peer, the network, or we, and why."""

import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.remoting.connection_context import Answering, ConnectionHooks, ConnectionLimits
from namekeeper.remoting.endings import closed_by, is_socket_closed
from namekeeper.remoting.front import Front
from namekeeper.remoting.handshake import TransportSecurity
from namekeeper.remoting.lending import LendingConnection
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_settings import TlsMode, TlsSettings
from namekeeper.route.channel import Channel, ClosedBy
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect, trusting
from tests.unit.remoting.fake_front import FakeNative
from tests.unit.remoting.joined import echo, frame

LOCAL = "127.0.0.1"


@asynccontextmanager
async def closing(**settings: object) -> AsyncIterator[tuple[RemotingServer, list[Channel]]]:
    """A server, and the channels that it has announced as closed."""
    closed: list[Channel] = []
    async with RemotingServer(
        echo, listen=ListenOptions(LOCAL, 0), hooks=ConnectionHooks(on_close=closed.append), **settings
    ) as server:
        yield server, closed


async def ended(closed: list[Channel]) -> ClosedBy | None:
    await eventually(lambda: closed)
    (channel,) = closed
    return channel.closed_by


def reset(sock: socket.socket) -> None:
    """Have the kernel send a reset when the socket is closed."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    ("error", "who"),
    [
        (None, ClosedBy.PEER),
        (ConnectionResetError(), ClosedBy.RESET),
        (BrokenPipeError(), ClosedBy.RESET),
        (TimeoutError(), ClosedBy.RESET),
        (OSError(113, "no route to host"), ClosedBy.RESET),
        (ssl.SSLError(1, "bad record"), ClosedBy.TLS),
    ],
)
def test_an_error_of_the_transport_says_who_ended_the_connection(error, who):
    assert closed_by(error) is who


@both_loops
async def test_a_peer_that_ends_has_closed_its_connection():
    async with closing() as (server, closed):
        async with connect(server.addresses[0]) as peer:
            await peer.ask()
            assert [each.channel.closed_by for each in server.connections] == [None]
        assert await ended(closed) is ClosedBy.PEER


@both_loops
async def test_a_reset_is_no_end_by_the_peer():
    async with closing() as (server, closed), connect(server.addresses[0]) as peer:
        await peer.ask()
        reset(peer.writer.get_extra_info("socket"))
        peer.writer.transport.abort()
        assert await ended(closed) is ClosedBy.RESET


@both_loops
async def test_an_idle_connection_was_closed_because_it_was_idle():
    async with (
        closing(limits=ConnectionLimits(idle_seconds=0.1)) as (server, closed),
        connect(server.addresses[0]) as peer,
    ):
        await peer.ask()
        assert await ended(closed) is ClosedBy.IDLE


@both_loops
async def test_a_frame_that_does_not_arrive_is_closed_by_a_limit():
    async with (
        closing(limits=ConnectionLimits(large_frame_seconds=0.1)) as (server, closed),
        connect(server.addresses[0]) as peer,
    ):
        await peer.send(frame(1, body=b"x" * 100_000)[:1_000])
        assert await ended(closed) is ClosedBy.LIMIT


async def test_a_connection_that_is_aborted_for_what_it_holds_is_closed_by_a_limit():
    async with closing() as (server, closed), connect(server.addresses[0]) as peer:
        await peer.ask()
        (connection,) = server.connections
        server._context.unread.keep(connection, lambda: 1)
        server._context.unread._disconnect(connection)
        assert await ended(closed) is ClosedBy.LIMIT


@both_loops
async def test_bytes_that_are_no_frame_are_an_error_of_the_protocol():
    async with closing() as (server, closed), connect(server.addresses[0]) as peer:
        await peer.ask()
        await peer.send(b"\xff" * 64)
        assert await ended(closed) is ClosedBy.PROTOCOL_ERROR


@both_loops
async def test_a_broken_record_of_tls_is_a_failure_of_tls():
    tls = TlsContexts(lambda: TlsSettings(mode=TlsMode.ENFORCING))
    async with closing(security=TransportSecurity(tls=tls)) as (server, closed):
        sock = socket.create_connection((LOCAL, server.addresses[0].port))
        async with connect(server.addresses[0], tls=trusting()) as peer:
            await peer.ask()
            raw = socket.socket(fileno=peer.writer.get_extra_info("socket").fileno())
            try:
                raw.send(b"\x17\x03\x03\x00\x20" + b"\x00" * 32)
            finally:
                raw.detach()
            assert await ended(closed) is ClosedBy.TLS
        sock.close()


@both_loops
async def test_a_server_that_stops_closes_its_connections():
    async with closing() as (server, closed), connect(server.addresses[0]) as peer:
        await peer.ask()
        await server.close()
        assert await ended(closed) is ClosedBy.SERVER


@both_loops
@pytest.mark.parametrize(("is_reset", "who"), [(True, ClosedBy.RESET), (False, ClosedBy.PEER)])
async def test_after_a_loan_a_reset_that_the_front_has_read_is_still_one(is_reset, who):
    """The kernel gives the error of a socket once; then it reads as if the peer had closed it."""
    native = FakeNative()
    settings = {"answering": Answering(lookup_cache=LookupCache(1 << 20), front=Front(native))}
    async with closing(**settings) as (server, closed), connect(server.addresses[0]) as peer:
        await peer.ask()
        (connection,) = server.connections
        assert isinstance(connection, LendingConnection)
        connection._lend()
        ((loan, descriptor),) = native.lent.items()
        if is_reset:
            reset(peer.writer.get_extra_info("socket"))
        peer.writer.transport.abort()
        with socket.socket(fileno=descriptor) as lent:
            await eventually(lambda: has_ended(lent))
            lent.detach()
        native.give_back(loan)
        assert await ended(closed) is who


def has_ended(sock: socket.socket) -> bool:
    """Read as the front does; whether the peer is gone."""
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_socket_that_is_no_tcp_socket_was_not_reset():
    one, other = socket.socketpair()
    with one, other:
        assert not is_socket_closed(one)
    assert not is_socket_closed(None)
