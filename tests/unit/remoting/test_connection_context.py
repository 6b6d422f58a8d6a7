from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection_context import ConnectionContext
from namekeeper.wire.command import Response


def test_connections_of_different_servers_share_nothing():
    one, other = (ConnectionContext(handler=lambda *_: Response(), budget=BodyBudget(1)) for _ in range(2))
    assert one.connections is not other.connections
    assert one.counters is not other.counters
    assert one.scheduler is not other.scheduler
