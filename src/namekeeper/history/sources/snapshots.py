"""Turns the answers of a running name server into the steps of a history.

The first answer is a checkpoint. The difference between two answers is a change with an unknown cause. While
it does not answer, its state is unknown.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Raw

from namekeeper.admin.snapshot import NamesrvSnapshot
from namekeeper.history.rows import AnyKey, FilterKey, GroupKey, LiveKey, MappingKey, Rows, TopicKey
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    FilterServers,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.journal.reading.history import Changed, CheckpointApplied, Lost, Seen, Step
from namekeeper.messages.bodies import encode_mapping
from namekeeper.model.route import TopicRouteData

__all__ = ["LiveSteps"]

Found = Mapping[AnyKey, Record]
"""The records that make the rows."""
_BOOT = 1


class LiveSteps:
    """Makes steps of the snapshots of one name server."""

    def __init__(self) -> None:
        self._rows: Found = {}
        self._seq = 0
        self._is_heard = False
        self._began: dict[LiveKey, int] = {}
        """Live row -> the seq at which it was first seen, which serves as its generation."""

    def answered(self, snapshot: NamesrvSnapshot, at: int) -> Iterator[Step]:
        """Take an answer at a time (wall ms)."""
        self._seq += 1
        before, self._rows = self._rows, dict(self._rows_of(snapshot))
        if not self._is_heard:
            self._is_heard = True
            rows = Rows()
            rows.apply(self._rows.values())
            yield CheckpointApplied(_BOOT, self._seq, at, rows, snapshot.cluster_label)
            return
        records = list(_between(before, self._rows))
        if records:
            yield Changed(_BOOT, self._seq, at, records)

    def fell_silent(self, last_at: int) -> Iterator[Step]:
        """Note that it does not answer any more; `at` is the time of its last answer (wall ms)."""
        if not self._is_heard:
            return
        self._is_heard = False
        self._seq += 1
        yield Seen(_BOOT, self._seq, last_at, None)
        yield Lost(_BOOT, self._seq, last_at)

    def _rows_of(self, snapshot: NamesrvSnapshot) -> Iterator[tuple[AnyKey, Record]]:
        began = self._began
        self._began = {}
        for name, broker in snapshot.brokers.items():
            yield (
                GroupKey(name),
                BrokerGroup(
                    broker_name=name,
                    cluster=broker.cluster,
                    zone=broker.zone_name,
                    acting_master=broker.enable_acting_master,
                    broker_addrs=broker.broker_addrs,
                ),
            )
            for broker_id, addr in broker.broker_addrs.items():
                key = LiveKey(broker.cluster, addr)
                gen = self._began[key] = began.get(key, self._seq)
                yield (
                    key,
                    BrokerLive(
                        cluster=broker.cluster,
                        broker_addr=addr,
                        broker_name=name,
                        broker_id=broker_id,
                        gen=gen,
                    ),
                )
        for topic, route in snapshot.routes.items():
            if route is not None:
                yield from _rows_of_route(topic, route, snapshot)


def _rows_of_route(
    topic: str, route: TopicRouteData, snapshot: NamesrvSnapshot
) -> Iterator[tuple[AnyKey, Record]]:
    for data in route.queue_datas:
        row = (topic, data.read_queue_nums, data.write_queue_nums, data.perm, data.topic_sys_flag)
        yield TopicKey(topic, data.broker_name), TopicQueues(broker_name=data.broker_name, rows=[row])
    for name, mapping in (route.topic_queue_mapping_by_broker or {}).items():
        text = Raw(encode_mapping(mapping, standard=True))
        yield MappingKey(topic, name), TopicMapping(topic=topic, broker_name=name, mapping=text)
    for addr, servers in route.filter_server_table.items():
        for cluster in _clusters_of(addr, snapshot):
            record = FilterServers(cluster=cluster, broker_addr=addr, filter_servers=list(servers))
            yield FilterKey(cluster, addr), record


def _clusters_of(addr: str, snapshot: NamesrvSnapshot) -> Iterable[str]:
    return {broker.cluster for broker in snapshot.brokers.values() if addr in broker.broker_addrs.values()}


def _between(before: Found, after: Found) -> Iterator[Record]:
    """The records that turn the first rows into the second ones."""
    for key, record in after.items():
        if key not in before or msgspec.json.encode(before[key]) != msgspec.json.encode(record):
            yield record
    for key in before.keys() - after.keys():
        yield _gone(before[key])


def _gone(record: Record) -> Record:
    """The record that ends a row."""
    if isinstance(record, BrokerGroup):
        return BrokerGroup(broker_name=record.broker_name, gone=True)
    if isinstance(record, TopicQueues):
        return TopicQueues(broker_name=record.broker_name, rows=[record.rows[0][:1]])
    if isinstance(record, TopicMapping):
        return TopicMapping(topic=record.topic, broker_name=record.broker_name, gone=True)
    if isinstance(record, FilterServers):
        return FilterServers(cluster=record.cluster, broker_addr=record.broker_addr)
    assert isinstance(record, BrokerLive)
    return BrokerLive(
        cluster=record.cluster,
        broker_addr=record.broker_addr,
        broker_name=record.broker_name,
        broker_id=record.broker_id,
        gen=record.gen,
        gone=True,
    )
