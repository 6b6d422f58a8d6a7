"""The whole state of a server, taken in one iteration of the event loop.

Taking it is cheap: topic tables are immutable, so a snapshot keeps references to them while their rows are
written. This module imports only modules that a server has loaded when it starts to listen.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.now import Now
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerLiveChanged,
    ClusterChanged,
    ConfigChanged,
    Event,
    FilterServersChanged,
    TopicMappingChanged,
    TopicRow,
)
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import RouteTables

__all__ = ["Snapshot", "take_snapshot"]

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


class Snapshot(Struct, frozen=True):
    """The state of a server at one time."""

    topic_tables: dict[str, Mapping[str, TopicRow]]
    """Broker name -> its immutable table."""
    live: tuple[BrokerLiveChanged, ...]
    others: tuple[Event, ...]
    """All other rows, each as the event that would make it."""

    @property
    def events(self) -> tuple[Event, ...]:
        """All rows but topic rows, each as the event that would make it."""
        return (*self.live, *self.others)


def take_snapshot(
    tables: RouteTables,
    kv_config: KvConfigStore,
    properties: Mapping[str, str] = NO_PROPERTIES,
    *,
    now: Now,
) -> Snapshot:
    """Take the state as it is now.

    Args:
        tables: the route tables.
        kv_config: the KV configuration.
        properties: the running configuration, `RuntimeConfig.values()`.
        now: the present: live registrations say how long ago they were heard.
    """
    mappings = tables.topic_queue_mapping_info_table.items()
    return Snapshot(
        topic_tables=dict(tables.topic_queue_table),
        live=tuple(_live(live, now) for live in tables.broker_live_table),
        others=(
            *map(BrokerGroupChanged, tables.broker_addr_table.values()),
            *(
                ClusterChanged(name, frozenset(members))
                for name, members in tables.cluster_addr_table.items()
            ),
            *(
                TopicMappingChanged(topic, name, mapping)
                for topic, by_name in mappings
                for name, mapping in by_name.items()
            ),
            *(FilterServersChanged(*key, servers) for key, servers in tables.filter_server_table.items()),
            *kv_config.entries(),
            *((ConfigChanged(dict(properties)),) if properties else ()),
        ),
    )


def _live(live: BrokerLiveInfo, now: Now) -> BrokerLiveChanged:
    return BrokerLiveChanged(
        cluster_name=live.cluster_name,
        broker_addr=live.broker_addr,
        broker_name=live.broker_name,
        broker_id=live.broker_id,
        ha_server_addr=live.ha_server_addr,
        heartbeat_timeout_ms=live.heartbeat_timeout_ms,
        data_version=live.data_version,
        channel_id=live.channel_id,
        remote_addr="" if live.channel is None else live.channel.remote_addr,
        gen=live.gen,
        is_new=False,
        idle_ms=max(1, live.idle_ms(now)),
        owner=live.owner,
    )
