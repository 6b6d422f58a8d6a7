"""Which live broker a request of another host would take over or end (protectBrokerNames)."""

from collections.abc import Iterable

from namekeeper.model.broker import BrokerKey
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.route.channel import Channel
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import RouteTables

__all__ = ["taken_over", "unregistered"]


def taken_over(tables: RouteTables, header: RegisterBrokerHeader, channel: Channel | None) -> str:
    """The live broker of another host that a registration would end, in words; empty if none."""
    return _of_another_host(tables, _held(tables, header), channel)


def unregistered(
    tables: RouteTables, key: BrokerKey, broker_names: Iterable[str], channel: Channel | None
) -> str:
    """The live broker of another host that an unregistration would end, in words; empty if none."""
    return _of_another_host(tables, _at_address(tables, key, broker_names), channel)


def _held(tables: RouteTables, header: RegisterBrokerHeader) -> Iterable[BrokerLiveInfo]:
    """Live brokers whose address, or whose name and id, a registration claims."""
    yield from _at_address(tables, (header.cluster_name, header.broker_addr), (header.broker_name,))
    for live in tables.broker_live_table.of_name(header.broker_name):
        if live.broker_id == header.broker_id:
            yield live


def _at_address(tables: RouteTables, key: BrokerKey, broker_names: Iterable[str]) -> Iterable[BrokerLiveInfo]:
    """Live brokers of a cluster and address, and those at the address under these names in any cluster."""
    live = tables.broker_live_table
    by_key = live.get(key)
    if by_key is not None:
        yield by_key
    for name in broker_names:
        for each in live.of_name(name):
            if each.broker_addr == key[1]:
                yield each


def _of_another_host(tables: RouteTables, brokers: Iterable[BrokerLiveInfo], channel: Channel | None) -> str:
    if not tables.rules.protect_broker_names or channel is None:
        return ""
    for live in brokers:
        if _is_of_another_host(live, channel):
            return f"{live.broker_addr} is live and was registered by another host (protectBrokerNames)"
    return ""


def _is_of_another_host(live: BrokerLiveInfo, channel: Channel) -> bool:
    """Whether a live broker was registered by another host, over a connection that is still open.

    A broker that was restored after a restart has no connection, so any host may register it.
    """
    own = live.channel
    return own is not None and own.is_open and own is not channel and own.host != channel.host
