from namekeeper.remoting.budget import BodyBudget
from namekeeper.remoting.connection_context import NO_BUFFER_BYTES, ConnectionContext, ConnectionLimits
from namekeeper.wire.command import Response


def test_connections_of_different_servers_share_nothing():
    one, other = (ConnectionContext(handler=lambda *_: Response(), budget=BodyBudget(1)) for _ in range(2))
    assert one.connections is not other.connections
    assert one.counters is not other.counters
    assert one.scheduler is not other.scheduler


def test_bytes_below_the_high_marks_of_thousands_of_connections_do_not_add_up():
    """3,500 connections had 250 KB each that no limit counted."""
    limits = ConnectionLimits(write_buffer_bytes=(1 << 20, 4 << 20))
    context = ConnectionContext(handler=lambda *_: Response(), budget=BodyBudget(1), limits=limits)
    for number in range(6):
        low, high = limits.write_buffer_bytes if number < 4 else NO_BUFFER_BYTES
        assert context.write_buffer_limits() == {"high": high, "low": low}
        context.connections.add(number)
