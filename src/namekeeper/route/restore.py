"""The rows of an earlier boot come back at once, before the first request (docs/decisions/0020).

A restored registration starts a generation of this boot and has no connection: a 104, its expiry or its own
registration ends it. It keeps the time of its last refresh, so it expires as if there had been no restart.
"""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from namekeeper.model.broker import BrokerKey
from namekeeper.model.now import Now
from namekeeper.route.change import Applied, Edit, OneStep
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerLiveChanged,
    Cause,
    ClusterChanged,
    Event,
    FilterServersChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import NO_TOPICS, RouteTables

__all__ = ["NO_CHANNEL", "RestoreRoutes"]

NO_CHANNEL = 0
"""Connections are counted from 1."""


class RestoreRoutes(OneStep, Struct, frozen=True):
    """Fills empty tables with the rows of an earlier boot."""

    source: RouteTables
    """The tables of the earlier boot; no code changes them any more."""
    idle_ms: Mapping[BrokerKey, int]
    """Each live registration -> ms since its last refresh."""
    cause: Cause = Cause.RESTORED
    remote_addr: str | None = None

    def touches(self, tables: RouteTables) -> Collection[str]:  # noqa: ARG002 - what the protocol passes
        """Every broker name that comes back."""
        return self.source.broker_addr_table.keys()

    def commit(self, tables: RouteTables, now: Now) -> Applied[None]:
        """Make all rows visible."""
        edit = Edit(tables, now)
        for event in self._rows():
            edit.apply(event)
        for gen, live in enumerate(self.source.broker_live_table, tables.gen + 1):
            edit.apply(_restored(live, gen, max(1, self.idle_ms[live.key])))
        for name, table in self.source.topic_queue_table.items():
            tables.index_topics(table, name)
            edit.apply(TopicQueuesChanged(name, NO_TOPICS, table, tuple(table)), updates_index=False)
        return edit.applied(None)

    def _rows(self) -> Iterator[Event]:
        """All rows but live registrations and topics."""
        source = self.source
        for cluster_name, broker_names in source.cluster_addr_table.items():
            yield ClusterChanged(cluster_name, broker_names)
        for group in source.broker_addr_table.values():
            yield BrokerGroupChanged(group)
        for topic, by_name in source.topic_queue_mapping_info_table.items():
            for broker_name, mapping in by_name.items():
                yield TopicMappingChanged(topic, broker_name, mapping)
        for key, filter_servers in source.filter_server_table.items():
            yield FilterServersChanged(*key, filter_servers)


def _restored(live: BrokerLiveInfo, gen: int, idle_ms: int) -> BrokerLiveChanged:
    return BrokerLiveChanged(
        cluster_name=live.cluster_name,
        broker_addr=live.broker_addr,
        broker_name=live.broker_name,
        broker_id=live.broker_id,
        ha_server_addr=live.ha_server_addr,
        heartbeat_timeout_ms=live.heartbeat_timeout_ms,
        data_version=live.data_version,
        channel_id=NO_CHANNEL,
        remote_addr="",
        gen=gen,
        is_new=True,
        idle_ms=idle_ms,
        owner=live.owner,
    )
