"""Whether a request would take a live broker over from another host (protectBrokerNames)."""

from collections.abc import Iterable

from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.route.channel import Channel
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import RouteTables

__all__ = ["is_of_another_host", "taken_over"]


def taken_over(tables: RouteTables, header: RegisterBrokerHeader, channel: Channel | None) -> str:
    """The live broker that a registration would take over from another host, in words; empty if none."""
    if not tables.rules.protect_broker_names or channel is None:
        return ""
    for live in _held(tables, header):
        if is_of_another_host(live, channel):
            return f"{live.broker_addr} is live there, registered by another host (protectBrokerNames)"
    return ""


def is_of_another_host(live: BrokerLiveInfo, channel: Channel) -> bool:
    """Whether a live broker was registered by another host, over a connection that is still open.

    A broker that was restored after a restart has no connection, so any host may register it.
    """
    own = live.channel
    return own is not None and own.is_open and own is not channel and _host(own) != _host(channel)


def _held(tables: RouteTables, header: RegisterBrokerHeader) -> Iterable[BrokerLiveInfo]:
    """Live brokers whose address, or whose name and id, a registration claims."""
    live = tables.broker_live_table
    by_address = live.get((header.cluster_name, header.broker_addr))
    if by_address is not None:
        yield by_address
    for each in live.of_name(header.broker_name):
        if each.broker_id == header.broker_id:
            yield each


def _host(channel: Channel) -> str:
    return channel.remote_addr.rpartition(":")[0]
