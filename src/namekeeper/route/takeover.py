"""The live broker that a request of another host would replace, end or refresh (protectBrokerNames)."""

from collections.abc import Iterable

from msgspec import Struct, structs

from namekeeper.model.broker import MASTER_ID, NOBODY, BrokerKey, Owner
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.route.channel import Channel
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import RouteTables

__all__ = ["Claimant", "keeps_zone_and_acting_master", "may_refresh", "taken_over", "unregistered"]


class Claimant(Struct, frozen=True):
    """The sender of a request, to be compared with the owners of live brokers."""

    channel: Channel
    owner: Owner
    """The identity that its connection proves, and the user of that request."""


def taken_over(tables: RouteTables, header: RegisterBrokerHeader, sender: Claimant | None) -> str:
    """The live broker of another host that a registration would end, in words; empty if none."""
    return _of_another_host(tables, _held(tables, header), sender)


def unregistered(
    tables: RouteTables, key: BrokerKey, broker_names: Iterable[str], sender: Claimant | None
) -> str:
    """The live broker of another host that an unregistration would end, in words; empty if none."""
    return _of_another_host(tables, _at_address(tables, key, broker_names), sender)


def keeps_zone_and_acting_master(
    tables: RouteTables, header: RegisterBrokerHeader, sender: Claimant | None
) -> bool:
    """Whether a registration leaves zone and acting master of its group as they are.

    They are those of the smallest id, if that one is live and of another host: clients that ask for a zone
    would else lose the brokers of a group that a stranger joins.
    """
    below = (
        live
        for live in tables.broker_live_table.of_name(header.broker_name)
        if live.broker_id < header.broker_id
    )
    return bool(_of_another_host(tables, below, sender))


def may_refresh(tables: RouteTables, live: BrokerLiveInfo, sender: Channel) -> bool:
    """Whether a heartbeat over a connection may keep a live broker alive.

    A stranger could otherwise keep a dead broker in the routes.
    """
    if not tables.rules.protect_broker_names or sender.may_take_over:
        return True
    return not _is_of_another_host(live, Claimant(sender, sender.owner))


def _held(tables: RouteTables, header: RegisterBrokerHeader) -> Iterable[BrokerLiveInfo]:
    """Live brokers whose address, or whose name and id, a registration claims.

    A negative id is below the master's and would decide about its topics. No broker has one, so it claims the
    whole group. So does a registration that puts the name into another cluster.
    """
    yield from _at_address(tables, (header.cluster_name, header.broker_addr), (header.broker_name,))
    for live in tables.broker_live_table.of_name(header.broker_name):
        is_below = header.broker_id < MASTER_ID
        if live.broker_id == header.broker_id or is_below or live.cluster_name != header.cluster_name:
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


def _of_another_host(tables: RouteTables, brokers: Iterable[BrokerLiveInfo], sender: Claimant | None) -> str:
    if not tables.rules.protect_broker_names or sender is None:
        return ""
    for live in brokers:
        if _is_of_another_host(live, sender):
            return f"{live.broker_addr} is live and was registered by another host (protectBrokerNames)"
    return ""


def _is_of_another_host(live: BrokerLiveInfo, sender: Claimant) -> bool:
    """Whether a live broker has another owner, by host, user and certificate.

    A restored broker has no connection and keeps its owner until it expires. A broker with a closed
    connection is about to end, so any host may register it.
    """
    own = live.channel
    owner = live.owner if own is None else structs.replace(live.owner, host=own.host)
    if own is sender.channel or (own is not None and not own.is_open) or owner == NOBODY:
        return False
    return not owner.may_be(sender.owner)
