import asyncio
import contextlib
import resource
import socket
import sys
from collections.abc import AsyncIterator, Sized

import pytest

from namekeeper.errors import ConfigError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.remoting import server as module
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import Answering, ConnectionHooks, ConnectionLimits
from namekeeper.remoting.front import Front
from namekeeper.remoting.lending import LendingConnection
from namekeeper.remoting.listening import ListenOptions, SocketOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.route.channel import Channel
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually, turns
from tests.support.wire.peer import connect
from tests.unit.remoting.fake_front import FakeNative
from tests.unit.remoting.joined import echo, frame

LOCAL = "127.0.0.1"


@both_loops
async def test_requests_are_answered():
    async with (
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server,
        connect(server.addresses[0]) as peer,
    ):
        answer = await peer.ask(body=b"hello", opaque=-7)
        assert (answer.opaque, answer.flag, answer.body) == (-7, 1, b"hello")


async def test_accepted_sockets_have_buffers_of_the_size_that_was_asked_for():
    options = SocketOptions(send_buffer_bytes=50_000, receive_buffer_bytes=60_000)
    async with (
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0, options)) as server,
        connect(server.addresses[0]) as peer,
    ):
        await peer.ask()
        (connection,) = server.connections
        sock = connection._transport.get_extra_info("socket")
        sizes = [sock.getsockopt(socket.SOL_SOCKET, name) for name in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
        assert sizes == [2 * 50_000, 2 * 60_000]  # Linux doubles what it is asked for


@both_loops
async def test_the_water_marks_of_a_connection_are_those_that_were_asked_for():
    marks = (10_000, 20_000)
    async with (
        RemotingServer(
            echo, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(write_buffer_bytes=marks)
        ) as server,
        connect(server.addresses[0]) as peer,
    ):
        await peer.ask()
        (connection,) = server.connections
        assert connection._transport.get_write_buffer_limits() == marks


@both_loops
async def test_the_channel_says_who_is_there():
    channels: list[Channel] = []
    async with RemotingServer(
        echo, listen=ListenOptions(LOCAL, 0), hooks=ConnectionHooks(on_connect=channels.append)
    ) as server:
        for _ in range(2):
            async with connect(server.addresses[0]) as peer:
                await peer.ask()
                host, port = peer.writer.get_extra_info("sockname")
                assert channels[-1].remote_addr == f"{host}:{port}"
    assert [channel.channel_id for channel in channels] == [1, 2]


@both_loops
@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["[::1]", "::1", "::"])
async def test_it_listens_on_ipv6(host: str):
    async with RemotingServer(
        lambda _, connection: Response(remark=connection.channel.remote_addr), listen=ListenOptions(host, 0)
    ) as server:
        ports = {address.port for address in server.addresses}
        assert len(ports) == 1
        async with connect(f"[::1]:{ports.pop()}") as peer:
            assert (await peer.ask()).remark.startswith("[::1]:")


async def test_a_name_stands_for_all_its_addresses():
    async with RemotingServer(echo, listen=ListenOptions("localhost", 0)) as server:
        assert server.addresses
        for address in server.addresses:
            assert address.port == server.addresses[0].port
            async with connect(address) as peer:
                assert (await peer.ask()).code == 0


async def test_the_ipv6_wildcard_serves_ipv4_too_and_knows_its_peers_by_their_ipv4_addresses():
    async with (
        RemotingServer(
            lambda _, connection: Response(remark=connection.channel.remote_addr),
            listen=ListenOptions("::", 0),
        ) as server,
        connect(f"{LOCAL}:{server.addresses[0].port}") as peer,
    ):
        assert (await peer.ask()).remark.startswith("127.0.0.1:")


@both_loops
async def test_an_address_in_use_is_one_line_that_says_what_to_do():
    async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
        second = RemotingServer(echo, listen=ListenOptions(LOCAL, server.addresses[0].port))
        with pytest.raises(
            ConfigError, match="another process listens there: stop it, or set another listenPort"
        ) as caught:
            await second.start()
        assert "\n" not in str(caught.value)
        assert str(server.addresses[0]) in str(caught.value)
        await second.close()


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
async def test_an_address_of_somebody_else_is_refused(host: str):
    with pytest.raises(ConfigError, match="correct bindAddress"):
        await RemotingServer(echo, listen=ListenOptions(host, 0)).start()


@both_loops
async def test_too_many_connections_are_closed_and_counted(caplog):
    async with RemotingServer(
        echo, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(max_connections=1)
    ) as server:
        async with connect(server.addresses[0]) as first:
            await first.ask()
            for _ in range(3):
                async with connect(server.addresses[0]) as refused:
                    assert await refused.is_closed_by_server()
            assert (await first.ask()).code == 0
        assert server.read_counters().connections_refused == 3
        assert "too many connections" in caplog.text
        await eventually(lambda: not server.connections)
        async with connect(server.addresses[0]) as second:
            assert (await second.ask()).code == 0


def test_the_limit_of_descriptors_bounds_connections(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_000, 2_000))
    assert module._what_descriptors_allow() == 1_000 - module.DESCRIPTORS_KEPT_BACK
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert module._what_descriptors_allow() == sys.maxsize


async def test_few_descriptors_are_said_and_connections_are_served_all_the_same(monkeypatch, caplog):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    async with (
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server,
        connect(server.addresses[0]) as peer,
    ):
        assert (await peer.ask()).code == 0
    assert "file descriptors allow only 16 connections at once: raise the limit, ulimit -n" in caplog.text


@contextlib.asynccontextmanager
async def lending(watchers: Sized) -> AsyncIterator[tuple[RemotingServer, LendingConnection]]:
    """A server with a front, and one connection of it."""
    server = RemotingServer(
        echo,
        listen=ListenOptions(LOCAL, 0),
        answering=Answering(lookup_cache=LookupCache(1_000), front=Front(FakeNative()), watchers=watchers),
    )
    async with server, connect(server.addresses[0]) as peer:
        await peer.ask()
        (connection,) = server.connections
        assert isinstance(connection, LendingConnection)
        yield server, connection


@pytest.mark.parametrize(("watchers", "is_lent"), [(3, True), (4, False)])
async def test_sockets_of_another_port_leave_less_to_lend(monkeypatch, watchers, is_lent):
    descriptors = module.DESCRIPTORS_KEPT_BACK + module.DESCRIPTORS_NOT_LENT + 1 + 4
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    async with lending(range(watchers)) as (_, connection):
        connection._lend()
        assert connection.is_lent == is_lent


async def test_loans_make_room_for_sockets_of_another_port_though_nobody_connects(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_000, 1_000))
    watchers: list[str] = []
    async with lending(watchers) as (server, connection):
        connection._lend()
        watchers += ["one"] * 1_000
        assert connection.is_lent
        _sweep(server, 1)
        await eventually(lambda: not connection.is_lent)


class TestIdle:
    @both_loops
    async def test_a_connection_without_traffic_is_closed(self):
        closed: list[Channel] = []
        async with (
            RemotingServer(
                echo,
                listen=ListenOptions(LOCAL, 0),
                limits=ConnectionLimits(idle_seconds=0.1),
                hooks=ConnectionHooks(on_close=closed.append),
            ) as server,
            connect(server.addresses[0]) as peer,
        ):
            await peer.ask()
            assert await peer.is_closed_by_server()
            assert [channel.is_open for channel in closed] == [False]
            assert server.read_counters().idle_closes == 1

    @both_loops
    async def test_a_newcomer_that_says_nothing_is_closed(self):
        async with (
            RemotingServer(
                echo, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(idle_seconds=0.1)
            ) as server,
            connect(server.addresses[0]) as peer,
        ):
            await eventually(lambda: server.read_counters().connections_in_handshake == 1)
            assert await peer.is_closed_by_server()
            assert server.read_counters().connections_in_handshake == 0
            assert server.read_counters().idle_closes == 1

    async def test_a_partial_frame_that_makes_no_progress_is_closed(self):
        async with (
            RemotingServer(
                echo, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(idle_seconds=0.1)
            ) as server,
            connect(server.addresses[0]) as peer,
        ):
            await peer.send(frame(1)[:20])
            assert await peer.is_closed_by_server()

    @both_loops
    async def test_with_0_seconds_no_connection_is_ever_idle(self):
        server = RemotingServer(echo, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(idle_seconds=0))
        async with server, connect(server.addresses[0]) as peer, connect(server.addresses[0]) as silent:
            await peer.ask()
            await turns(10 * module.SWEEPS_PER_IDLE_TIME)
            assert (await peer.ask()).code == 0
            assert (await silent.ask()).code == 0
            assert server.read_counters().idle_closes == 0
            assert server._sweep_timer is None

    async def test_traffic_keeps_a_connection_alive(self):
        server = RemotingServer(echo, listen=ListenOptions(LOCAL, 0))
        async with server, connect(server.addresses[0]) as peer:
            await peer.ask()
            for _ in range(10):
                _sweep(server, module.SWEEPS_PER_IDLE_TIME - 1)
                await peer.ask()
            assert server.read_counters().idle_closes == 0
            _sweep(server, module.SWEEPS_PER_IDLE_TIME + 1)
            assert await peer.is_closed_by_server()

    async def test_a_connection_that_waits_for_us_is_not_idle(self):
        server = RemotingServer(
            lambda *_: None, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(body_budget_bytes=1)
        )
        async with server, connect(server.addresses[0]) as first, connect(server.addresses[0]) as second:
            for peer in (first, second):
                await peer.send(frame(1, body=b"x" * 100_000))
            await eventually(lambda: server.read_counters().large_frames_waiting == 1)
            _sweep(server, 3 * module.SWEEPS_PER_IDLE_TIME)
            await eventually(lambda: len(server.connections) == 1)
            (waiting,) = server.connections
            await turns()  # the budget of the closed one went to the one that waited
            _sweep(server, 3 * module.SWEEPS_PER_IDLE_TIME)
            await eventually(lambda: not server.connections)
            assert not waiting.channel.is_open


class TestShutdown:
    @both_loops
    async def test_close_ends_everything_and_may_be_called_twice(self):
        closed: list[Channel] = []
        server = RemotingServer(
            echo, listen=ListenOptions(LOCAL, 0), hooks=ConnectionHooks(on_close=closed.append)
        )
        await server.start()
        addr = server.addresses[0]
        async with connect(addr) as peer, connect(addr) as silent:
            await peer.ask()
            await eventually(lambda: server.read_counters().connections_in_handshake == 1)
            await server.close()
            assert await peer.is_closed_by_server()
            assert await silent.is_closed_by_server()
        assert len(closed) == 1
        assert not server.connections
        await server.close()
        with pytest.raises(ConnectionRefusedError):
            async with connect(addr):
                pass

    @both_loops
    async def test_a_socket_that_becomes_a_connection_meanwhile_is_closed_with_the_others(self, monkeypatch):
        """Its transport is being made when the server closes; nobody waits for a transport that is gone."""
        server = RemotingServer(echo, listen=ListenOptions(LOCAL, 0))
        closing: list[asyncio.Task[None]] = []

        def made(*parts: object) -> ServerConnection:
            closing.append(asyncio.create_task(server.close()))
            return ServerConnection(*parts)

        monkeypatch.setattr(module, "ServerConnection", made)
        await server.start()
        async with connect(server.addresses[0]) as peer:
            await peer.send(frame(1)[:1])
            await eventually(lambda: closing and closing[0].done(), within_seconds=1)
            assert await peer.is_closed_by_server()
        assert not server.connections

    async def test_a_server_that_never_started_can_be_closed(self):
        server = RemotingServer(echo)
        await server.close()
        assert server.addresses == []

    @both_loops
    async def test_what_is_connected_is_served_after_accepting_ended(self):
        async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
            addr = server.addresses[0]
            async with connect(addr) as peer:
                await peer.ask()
                server.stop_accepting()
                assert server.addresses == []
                with pytest.raises(ConnectionRefusedError):
                    async with connect(addr):
                        pass
                assert (await peer.ask()).code == 0

    async def test_draining_waits_for_answers_that_are_owed(self):
        owed: list[tuple[RemotingCommand, ServerConnection]] = []
        async with (
            RemotingServer(lambda *it: owed.append(it), listen=ListenOptions(LOCAL, 0)) as server,
            connect(server.addresses[0]) as peer,
        ):
            await peer.send(frame(1))
            await eventually(lambda: owed)
            assert not await server.drain(0)
            draining = asyncio.create_task(server.drain(10))
            await turns()
            assert not draining.done()
            ((request, connection),) = owed
            connection.respond(request, Response())
            assert await draining
            assert (await peer.answer()).opaque == 1

    async def test_answers_written_before_the_close_arrive(self):
        server = RemotingServer(lambda *_: Response(body=b"x" * 200_000), listen=ListenOptions(LOCAL, 0))
        await server.start()
        async with connect(server.addresses[0]) as peer:
            await peer.send(frame(1))
            await eventually(lambda: server.read_counters().bytes_out)
            closing = asyncio.create_task(server.close())
            assert len((await peer.answer()).body) == 200_000
            await closing


def _sweep(server: RemotingServer, count: int) -> None:
    """Let time pass without waiting for it."""
    for _ in range(count):
        server._sweep_timer.cancel()
        server._sweep()
