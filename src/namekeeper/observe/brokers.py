"""The brokers in an answer to 106, and the events that they and their clusters make."""

from collections.abc import Iterable, Mapping

from namekeeper.model.broker import BrokerData, BrokerKey
from namekeeper.model.route import ClusterInfo
from namekeeper.model.version import DataVersion
from namekeeper.route.events import BrokerLiveChanged, BrokerLiveGone, Cause, ClusterChanged, Event

__all__ = ["cluster_events", "live_brokers", "live_changed", "live_gone", "live_of"]


def live_brokers(info: ClusterInfo) -> frozenset[BrokerKey]:
    """Cluster and address of each broker in an answer to 106."""
    return frozenset(live_of(info.broker_addr_table))


def live_of(brokers: Mapping[str, BrokerData]) -> dict[BrokerKey, tuple[str, int]]:
    """(cluster, address) -> broker name and id."""
    return {
        (broker.cluster, addr): (name, broker_id)
        for name, broker in sorted(brokers.items())
        for broker_id, addr in sorted(broker.broker_addrs.items())
    }


def cluster_events(
    before: Mapping[str, frozenset[str]], after: Mapping[str, frozenset[str]]
) -> Iterable[Event]:
    """The clusters that have other broker names than before, or none."""
    for cluster in before.keys() - after.keys():
        yield ClusterChanged(cluster, frozenset())
    for cluster, names in after.items():
        if before.get(cluster) != names:
            yield ClusterChanged(cluster, names)


def live_changed(key: BrokerKey, name: str, broker_id: int, gen: int, *, is_new: bool) -> BrokerLiveChanged:
    """A broker is there: all that an answer says of it."""
    return BrokerLiveChanged(
        cluster_name=key[0],
        broker_addr=key[1],
        broker_name=name,
        broker_id=broker_id,
        ha_server_addr="",
        heartbeat_timeout_ms=0,
        data_version=DataVersion(),
        channel_id=0,
        remote_addr="",
        gen=gen,
        is_new=is_new,
    )


def live_gone(key: BrokerKey, name: str, broker_id: int, gen: int) -> BrokerLiveGone:
    """A broker is gone."""
    return BrokerLiveGone(
        cluster_name=key[0],
        broker_addr=key[1],
        broker_name=name,
        broker_id=broker_id,
        gen=gen,
        reason=Cause.OBSERVED,
        idle_ms=0,
        heartbeat_timeout_ms=0,
    )
