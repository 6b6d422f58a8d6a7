from msgspec.structs import asdict

from namekeeper.remoting.counters import RemotingCounters
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect
from tests.unit.remoting.joined import echo, frame

LOCAL = "127.0.0.1"


def test_everything_begins_at_zero():
    assert set(asdict(RemotingCounters()).values()) == {0}


async def test_bytes_of_open_and_closed_connections_are_counted():
    async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
        for count in (1, 2):
            async with connect(server.addresses[0]) as peer:
                await peer.ask()
                counters = server.read_counters()
                assert counters.connections_open == 1
                assert counters.bytes_in == count * len(frame(1))
                assert counters.bytes_out > 0
            await eventually(lambda: not server.connections)
