"""The state of a server, made from records: route tables, KV configuration, properties.

Records become events of the route package, and `RouteTables.apply` applies them: the tables of a replay are
made by the same code as those of a server. The journal has only the effective row of a topic, not the
registered one; here both are the effective one.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from sys import intern
from typing import Any

from namekeeper.journal.contract.decode import mapping_of
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    BrokerNameRemovedRecord,
    Cluster,
    Config,
    FilterServers,
    Kv,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.model.broker import BrokerData, Owner
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.channel import Channel, host_of
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    ClusterChanged,
    Event,
    FilterServersChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
    TopicRow,
)
from namekeeper.route.rows import make_row
from namekeeper.route.tables import RouteTables

__all__ = ["State", "broker_data_of"]


class State:
    """Rows made by the records applied so far."""

    def __init__(self, *, is_indexed: bool = True) -> None:
        """Begin empty.

        Args:
            is_indexed: Whether the tables get a topic index. Without it no topic can be looked up, and a
                million rows take a third less time.
        """
        self.tables = RouteTables()
        self._is_indexed = is_indexed
        self.kv: dict[str, dict[str, str]] = {}
        """Namespace -> key -> value; no namespace is empty."""
        self.properties: dict[str, str] = {}
        """The running configuration, as far as it was recorded."""

    def restart(self) -> None:
        """Start a boot: the routes are gone; files keep the KV configuration and the properties.

        If those files changed meanwhile, the checkpoint at the start of the boot has the new content.
        """
        self.tables = RouteTables()

    def apply(self, records: Iterable[Record]) -> None:
        """Apply records; adjacent topic rows of one broker name are applied together."""
        for broker_name, some in groupby(records, _name_of_rows):
            if broker_name is not None:
                self._apply_rows(broker_name, some)
                continue
            for record in some:
                self._apply_one(record)

    def _apply_one(self, record: Record) -> None:
        if isinstance(record, Kv):
            self._apply_kv(record)
        elif isinstance(record, Config):
            self.properties.update(record.properties)
        elif isinstance(record, BrokerLive):
            channel = Channel(record.channel, record.remote_addr)
            self.tables.apply(_gone(record) if record.gone else self._live(record), channel)
        elif isinstance(record, BrokerNameRemovedRecord):
            name = record.broker_name
            removed = BrokerNameRemoved(name, self.tables.topics_of(name))
            self.tables.apply(removed, updates_index=self._is_indexed)
        else:
            make = _EVENTS.get(type(record))
            if make is not None:
                self.tables.apply(make(record))

    def _apply_rows(self, broker_name: str, records: Iterable[Record]) -> None:
        before = self.tables.topics_of(broker_name)
        after = dict(before)
        topics: list[str] = []
        for record in records:
            assert isinstance(record, TopicQueues)
            named = list(map(intern, map(_first, record.rows)))
            queues = list(map(_rest, record.rows))
            after.update(zip(named, map(_row_cache.__getitem__, queues), strict=True))
            if () in queues:
                for topic, numbers in zip(named, queues, strict=True):
                    if not numbers:
                        del after[topic]
            topics += named
        changed = TopicQueuesChanged(broker_name, before, after, tuple(topics))
        self.tables.apply(changed, updates_index=self._is_indexed)

    def _live(self, record: BrokerLive) -> BrokerLiveChanged:
        live = self.tables.broker_live_table.get((record.cluster, record.broker_addr))
        state_version, timestamp, counter = record.data_version or (0, 0, 0)
        return BrokerLiveChanged(
            cluster_name=record.cluster,
            broker_addr=record.broker_addr,
            broker_name=record.broker_name,
            broker_id=record.broker_id,
            ha_server_addr=record.ha_server_addr,
            heartbeat_timeout_ms=record.timeout_ms,
            data_version=DataVersion(counter=counter, state_version=state_version, timestamp=timestamp),
            channel_id=record.channel,
            remote_addr=record.remote_addr,
            gen=record.gen,
            is_new=live is None or live.gen != record.gen,
            body_bytes=record.body_bytes,
            owner=Owner(
                record.owner_host or host_of(record.remote_addr), record.owner_user, record.owner_certificate
            ),
        )

    def _apply_kv(self, record: Kv) -> None:
        entries = self.kv.setdefault(record.namespace, {})
        if record.gone:
            entries.pop(record.key, None)
        else:
            entries[record.key] = record.value
        if not entries:
            del self.kv[record.namespace]


_first, _rest = itemgetter(0), itemgetter(slice(1, None))


class _TopicRowCache(dict[tuple[int, ...], TopicRow]):
    """Queue numbers of a record -> row: millions of topics share few rows."""

    def __missing__(self, queues: tuple[int, ...]) -> TopicRow:
        spec = QueueSpec(*queues)
        row = make_row(spec, spec)
        if len(self) >= _MAX_ROWS:
            self.clear()
        self[queues] = row
        return row


_MAX_ROWS = 65_536
_row_cache = _TopicRowCache()


def _name_of_rows(record: Record) -> str | None:
    return record.broker_name if type(record) is TopicQueues else None


def _gone(record: BrokerLive) -> BrokerLiveGone:
    return BrokerLiveGone(
        cluster_name=record.cluster,
        broker_addr=record.broker_addr,
        broker_name=record.broker_name,
        broker_id=record.broker_id,
        gen=record.gen,
        reason=Cause.UNREGISTER,  # not stored, so any value will do
        idle_ms=record.idle_ms,
        heartbeat_timeout_ms=record.timeout_ms,
    )


def _group(record: BrokerGroup) -> Event:
    if record.gone:
        return BrokerGroupGone(record.broker_name)
    return BrokerGroupChanged(broker_data_of(record))


def broker_data_of(record: BrokerGroup) -> BrokerData:
    """The broker group that a record describes."""
    return BrokerData(
        cluster=record.cluster,
        broker_name=record.broker_name,
        broker_addrs=dict(record.broker_addrs),
        enable_acting_master=record.acting_master,
        zone_name=record.zone,
    )


def _cluster(record: Cluster) -> Event:
    return ClusterChanged(record.cluster, frozenset(record.broker_names))


def _mapping(record: TopicMapping) -> Event:
    return TopicMappingChanged(record.topic, record.broker_name, mapping_of(record))


def _filter_servers(record: FilterServers) -> Event:
    return FilterServersChanged(record.cluster, record.broker_addr, tuple(record.filter_servers))


_EVENTS: Mapping[type[Record], Callable[[Any], Event]] = {
    BrokerGroup: _group,
    Cluster: _cluster,
    TopicMapping: _mapping,
    FilterServers: _filter_servers,
}
