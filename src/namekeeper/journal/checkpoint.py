"""A checkpoint: the whole state of a server at one moment, as records.

The state is taken in one turn of the event loop, which costs pointers: topic tables are immutable and stay as
they are while their rows are written, however long that takes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from namekeeper.journal.encode import records_of_event, topic_records
from namekeeper.journal.record import BrokerLive, CheckpointBegin, CheckpointEnd, Record
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.route.events import (
    BrokerGroupChanged,
    ClusterChanged,
    ConfigChanged,
    Event,
    FilterServersChanged,
    TopicMappingChanged,
    TopicRow,
)
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import RouteTables

__all__ = ["Snapshot", "checkpoint_records", "take_snapshot"]

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


class Snapshot(Struct, frozen=True):
    """What a server holds at one moment."""

    topic_tables: dict[str, Mapping[str, TopicRow]]
    """Broker name -> its immutable table."""
    live: tuple[BrokerLive, ...]
    events: tuple[Event, ...]
    """Every other row, as the event that would make it."""


def take_snapshot(
    tables: RouteTables, kv_config: KvConfigStore, properties: Mapping[str, str] = NO_PROPERTIES
) -> Snapshot:
    """Take the state as it is now, in one turn.

    Args:
        tables: the route tables.
        kv_config: the KV configuration.
        properties: the running configuration, `RuntimeConfig.values()`.
    """
    mappings = tables.topic_queue_mapping_info_table.items()
    return Snapshot(
        topic_tables=dict(tables.topic_queue_table),
        live=tuple(map(_live, tables.broker_live_table)),
        events=(
            *map(BrokerGroupChanged, tables.broker_addr_table.values()),
            *(ClusterChanged(name, members) for name, members in tables.cluster_addr_table.items()),
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


def checkpoint_records(snapshot: Snapshot, reason: str) -> Iterator[Record]:
    """The records of a checkpoint: its begin, every row, its end with the counts.

    Each is a change of its own; all but the first carry the first one's seq as `checkpoint`. They may be
    written with other changes in between.

    Args:
        snapshot: the state at the place of the begin.
        reason: start, interval, recovery or retention.
    """
    yield CheckpointBegin(reason=reason)
    counts: Counter[str] = Counter()
    for record in _rows(snapshot):
        counts[record.kind] += 1
        yield record
    yield CheckpointEnd(counts=dict(counts))


def _rows(snapshot: Snapshot) -> Iterator[Record]:
    yield from snapshot.live
    for event in snapshot.events:
        yield from records_of_event(event)
    for broker_name, table in snapshot.topic_tables.items():
        yield from topic_records(broker_name, table, table)


def _live(live: BrokerLiveInfo) -> BrokerLive:
    version, channel = live.data_version, live.channel
    return BrokerLive(
        cluster=live.cluster_name,
        broker_addr=live.broker_addr,
        broker_name=live.broker_name,
        broker_id=live.broker_id,
        gen=live.gen,
        ha_server_addr=live.ha_server_addr,
        timeout_ms=live.heartbeat_timeout_ms,
        data_version=(version.state_version, version.timestamp, version.counter),
        channel=live.channel_id,
        remote_addr="" if channel is None else channel.remote_addr,
    )
