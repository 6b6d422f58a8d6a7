import asyncio
import socket
from collections.abc import Iterator
from struct import pack

import pytest

from namekeeper.common.networks import parse_network
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.handshake import TransportSecurity
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect
from tests.unit.remoting.joined import frame

LOCAL = "127.0.0.1"
V1 = b"PROXY TCP4 203.0.113.7 192.0.2.1 4321 9876\r\n"
V2_START = b"\r\n\r\n\0\r\nQUIT\n"
V2 = (
    V2_START
    + pack(">BBH", 0x21, 0x11, 12)
    + socket.inet_aton("203.0.113.7")
    + socket.inet_aton("192.0.2.1")
    + pack(">HH", 4321, 9876)
)
V2_LONG = V2_START + pack(">BBH", 0x21, 0x11, 2_012) + V2[16:] + b"\x04\0\0" + b"t" * 1_997
V2_LOCAL = V2_START + pack(">BBH", 0x20, 0, 0)


def who_is_there(_request: RemotingCommand, connection: ServerConnection) -> Response:
    return Response(ext_fields={"addr": connection.channel.remote_addr})


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@both_loops
@pytest.mark.parametrize("header", [V1, V2, V2_LONG], ids=["v1", "v2", "v2 with much behind it"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_a_trusted_proxy_says_who_is_there(header: bytes, size: int):
    async with (
        RemotingServer(
            who_is_there,
            listen=ListenOptions(LOCAL, 0),
            security=TransportSecurity(
                trusted_proxies=[parse_network("10.0.0.0/8"), parse_network("127.0.0.0/8")]
            ),
        ) as server,
        connect(server.addresses[0]) as peer,
    ):
        for piece in pieces(header + frame(1), size):
            await peer.send(piece)
            await asyncio.sleep(0)
        answer = await peer.answer()
        assert answer.ext_fields == {"addr": "203.0.113.7:4321"}
        assert (await peer.ask(opaque=2)).opaque == 2


@both_loops
@pytest.mark.parametrize("trusted", [[], ["10.0.0.0/8", "::1"]])
async def test_a_header_of_somebody_else_is_a_claim(trusted: list[str], caplog):
    caplog.set_level("INFO")
    async with (
        RemotingServer(
            who_is_there,
            listen=ListenOptions(LOCAL, 0),
            security=TransportSecurity(trusted_proxies=[*map(parse_network, trusted)]),
        ) as server,
        connect(server.addresses[0]) as peer,
    ):
        await peer.send(V1 + frame(1))
        answer = await peer.answer()
        host, port = peer.writer.get_extra_info("sockname")
        assert answer.ext_fields == {"addr": f"{host}:{port}"}
        assert server.read_counters().proxy_claims == 1
        assert "claimed by a PROXY header to be 203.0.113.7:4321" in caplog.text


@pytest.mark.parametrize("trusted", ["127.0.0.0/8", "::ffff:127.0.0.0/104"])
@pytest.mark.parametrize("host", [LOCAL, "::"])
async def test_a_trusted_proxy_of_ipv4_is_trusted_over_ipv6_too(host: str, trusted: str):
    """A socket that takes both writes an IPv4 address as `::ffff:127.0.0.1`."""
    async with RemotingServer(
        who_is_there,
        listen=ListenOptions(host, 0),
        security=TransportSecurity(trusted_proxies=[parse_network(trusted)]),
    ) as server:
        port = server.addresses[0].port
        async with connect(f"{LOCAL}:{port}") as peer:
            await peer.send(V1 + frame(1))
            assert (await peer.answer()).ext_fields == {"addr": "203.0.113.7:4321"}


@pytest.mark.parametrize("header", [V2_LOCAL, b"PROXY UNKNOWN\r\n"])
async def test_a_proxy_that_speaks_for_itself_is_known_by_its_socket(header: bytes):
    async with (
        RemotingServer(
            who_is_there,
            listen=ListenOptions(LOCAL, 0),
            security=TransportSecurity(trusted_proxies=[parse_network("127.0.0.1")]),
        ) as server,
        connect(server.addresses[0]) as peer,
    ):
        await peer.send(header + frame(1))
        assert (await peer.answer()).ext_fields["addr"].startswith("127.0.0.1:")


@both_loops
@pytest.mark.parametrize(
    "start",
    [b"PROXY TCP4 x\r\n", b"PROXX", b"P" * 50, b"PROXY " + b"1" * 200, b"\r\n\r\n\0\r\nQUIZ", V2_START + pack(">BBH", 0x21, 0x11, 60_000), V1 + V1],
    ids=["v1 nonsense", "no header", "no header at all", "v1 without end", "v2 nonsense", "v2 too long", "twice"],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 100_000])
async def test_broken_headers_close_the_connection(start: bytes, size: int):
    async with RemotingServer(who_is_there, listen=ListenOptions(LOCAL, 0)) as server:
        async with connect(server.addresses[0]) as peer:
            with_errors = False
            try:
                for piece in pieces(start, size):
                    await peer.send(piece)
                    await asyncio.sleep(0)
            except ConnectionError:
                with_errors = True
            assert with_errors or await peer.is_closed_by_server()
        counters = server.read_counters()
        assert counters.connections_rejected + counters.protocol_errors == 1
        async with connect(server.addresses[0]) as other:
            assert (await other.ask()).code == 0


@both_loops
async def test_half_a_header_does_not_make_the_loop_spin():
    """Bytes that are only peeked at keep a socket readable."""
    async with (
        RemotingServer(who_is_there, listen=ListenOptions(LOCAL, 0)) as server,
        connect(server.addresses[0]) as peer,
    ):
        await peer.send(V1[:10])
        await eventually(lambda: server.read_counters().connections_in_handshake == 1)
        looks = 0
        (sniffer,) = server._handshakes._sniffers
        examine = type(sniffer)._examine

        def counting(self):
            nonlocal looks
            looks += 1
            return examine(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(sniffer), "_examine", counting)
            for _ in range(50):
                await asyncio.sleep(0.001)
            assert looks <= 1
            await peer.send(V1[10:] + frame(1))
            assert (await peer.answer()).code == 0


@both_loops
async def test_a_newcomer_that_leaves_is_forgotten():
    async with RemotingServer(who_is_there, listen=ListenOptions(LOCAL, 0)) as server:
        async with connect(server.addresses[0]):
            await eventually(lambda: server.read_counters().connections_in_handshake == 1)
        await eventually(lambda: server.read_counters().connections_in_handshake == 0)
        assert server.read_counters().connections_total == 0
