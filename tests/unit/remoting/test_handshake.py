import asyncio

from namekeeper.remoting.connection_context import ConnectionLimits
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect
from tests.unit.remoting.joined import echo

LOCAL = "127.0.0.1"


@both_loops
async def test_newcomers_count_as_connections():
    async with (
        RemotingServer(
            echo, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(max_connections=1)
        ) as server,
        connect(server.addresses[0]),
    ):
        await eventually(lambda: server.read_counters().connections_in_handshake == 1)
        async with connect(server.addresses[0]) as refused:
            assert await refused.is_closed_by_server()
        assert server.read_counters().connections_refused == 1


@both_loops
async def test_many_newcomers_at_once_become_connections():
    async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
        addr = server.addresses[0]

        async def visit() -> int:
            async with connect(addr) as peer:
                return (await peer.ask()).code

        for _ in range(2):
            assert set(await asyncio.gather(*(visit() for _ in range(100)))) == {0}
        assert server.read_counters().connections_total == 200
        await eventually(lambda: not server.connections)
