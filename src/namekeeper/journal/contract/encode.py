"""Encodes changes and single records as the lines of a journal.

This runs in the writer's thread and must not slow down the event loop. Topic rows are most of the work: the
text of their queue numbers is cached, because many rows have the same numbers. A row takes about half a
microsecond.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec import Raw, Struct, json

from namekeeper.config.runtime import is_secret
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.record import (
    CONTRACT_VERSION,
    NO_MAPPING,
    ROWS_IN_A_RECORD,
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
from namekeeper.messages.bodies import encode_mapping
from namekeeper.model.topic import QueueSpec
from namekeeper.route.broker_names import in_order
from namekeeper.route.channel import host_of
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Change,
    ClusterChanged,
    ConfigChanged,
    Event,
    FilterServersChanged,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
    TopicRow,
)

__all__ = [
    "MASKED",
    "Stamp",
    "encode_change",
    "encode_record",
    "records_of",
    "records_of_event",
    "topic_records",
]

MASKED = "***"
"""Written in place of the value of a secret property."""

_encode = json.Encoder().encode


class Stamp(Struct, frozen=True):
    """The envelope of a change: the name server, the position of the first record, the time."""

    namesrv: str
    boot: int
    seq: int
    """Seq of the first record; the other records follow without holes."""
    ts: int
    """Wall ms."""
    up_ms: int
    """Monotonic ms since the boot began."""


def records_of(change: Change) -> int:
    """How many records `encode_change` makes; fast, because it encodes nothing."""
    count = 0
    for event in change.events:
        if type(event) is TopicQueuesChanged:
            count += -(-len(event.topics) // ROWS_IN_A_RECORD)
        elif type(event) in _RECORDS:
            count += 1
    return count


def encode_change(change: Change, stamp: Stamp) -> Iterator[bytes]:
    """The lines of a change, each with its line feed; none for a change without events of state."""
    last = stamp.seq + records_of(change) - 1
    peer = change.asked_by or ""
    records = (record for event in change.events for record in records_of_event(event))
    for seq, record in enumerate(records, stamp.seq):
        record.cause, record.peer, record.window_ms = change.cause, peer, change.window_ms
        _put_stamp(record, stamp, seq)
        record.end = seq == last
        yield with_checksum(_encode(record))


def encode_record(record: Record, stamp: Stamp, *, checkpoint: int = 0) -> bytes:
    """The line, with its line feed, of a record that is a change of its own; fills in the record's envelope.

    Args:
        record: about the server, its activity or a checkpoint.
        stamp: its position and time.
        checkpoint: the seq of `checkpoint_begin` for a row or the end of a checkpoint, else 0.
    """
    _put_stamp(record, stamp, stamp.seq)
    record.checkpoint = checkpoint
    record.end = True
    return with_checksum(_encode(record))


def records_of_event(event: Event) -> Iterable[Record]:
    """The records of an event, with an empty envelope; none if the event is not one of state."""
    make = _RECORDS.get(type(event))
    return () if make is None else make(event)


def topic_records(broker_name: str, rows: Mapping[str, TopicRow], topics: Iterable[str]) -> Iterator[Record]:
    """Records of some topics of a broker name: what `rows` says of each, or that it is gone.

    Args:
        broker_name: the name that has the rows.
        rows: all its rows.
        topics: the topics to write; pass `rows` itself to write all of them, which is faster.
    """
    names = iter(topics)
    found = iter(rows.values()) if topics is rows else map(rows.get, topics)
    text_of: dict[int, Raw] = {}
    while piece := list(islice(names, ROWS_IN_A_RECORD)):
        row_of = list(islice(found, ROWS_IN_A_RECORD))
        yield TopicQueues(broker_name=broker_name, rows=_texts(piece, row_of, text_of))


def _texts(
    topics: list[str], row_of: list[TopicRow | None], text_of: dict[int, Raw]
) -> list[tuple[Any, ...]]:
    """The rows of a record; `text_of` maps the identity of a row to its text, as far as it is known.

    When many brokers register this is most of the journal's cost: the usual case has no Python code for each
    row.
    """
    try:
        return list(zip(topics, map(text_of.__getitem__, map(id, row_of)), strict=True))
    except KeyError:
        text_of.update((id(row), _queues(row)) for row in row_of if row is not None)
    return [
        (topic,) if row is None else (topic, text_of[id(row)])
        for topic, row in zip(topics, row_of, strict=True)
    ]


def _queues(row: TopicRow) -> Raw:
    return _queues_text(row.effective)


@lru_cache(16_384)
def _queues_text(spec: QueueSpec) -> Raw:
    """The numbers that follow a topic in its row, as text; most topics share a few texts."""
    return Raw(b"%d,%d,%d,%d" % (spec.read_queue_nums, spec.write_queue_nums, spec.perm, spec.topic_sys_flag))


def _put_stamp(record: Record, stamp: Stamp, seq: int) -> None:
    record.v = CONTRACT_VERSION
    record.namesrv = stamp.namesrv
    record.boot = stamp.boot
    record.seq = seq
    record.change = stamp.seq
    record.ts = stamp.ts
    record.up_ms = stamp.up_ms


def _live_changed(event: BrokerLiveChanged) -> Iterable[Record]:
    version = event.data_version
    owner = event.owner
    yield BrokerLive(
        cluster=event.cluster_name,
        broker_addr=event.broker_addr,
        broker_name=event.broker_name,
        broker_id=event.broker_id,
        gen=event.gen,
        new=event.is_new,
        ha_server_addr=event.ha_server_addr,
        timeout_ms=event.heartbeat_timeout_ms,
        data_version=(version.state_version, version.timestamp, version.counter),
        channel=event.channel_id,
        remote_addr=event.remote_addr,
        body_bytes=event.body_bytes,
        idle_ms=event.idle_ms,
        owner_host="" if owner.host == host_of(event.remote_addr) else owner.host,
        owner_user=owner.user,
        owner_certificate=owner.certificate,
    )


def _live_gone(event: BrokerLiveGone) -> Iterable[Record]:
    yield BrokerLive(
        cluster=event.cluster_name,
        broker_addr=event.broker_addr,
        broker_name=event.broker_name,
        broker_id=event.broker_id,
        gen=event.gen,
        timeout_ms=event.heartbeat_timeout_ms,
        gone=True,
        reason=event.reason,
        idle_ms=event.idle_ms,
        closed_by=event.closed_by,
    )


def _group_changed(event: BrokerGroupChanged) -> Iterable[Record]:
    group = event.group
    yield BrokerGroup(
        broker_name=group.broker_name,
        cluster=group.cluster,
        zone=group.zone_name,
        acting_master=group.enable_acting_master,
        broker_addrs=group.broker_addrs,
    )


def _group_gone(event: BrokerGroupGone) -> Iterable[Record]:
    yield BrokerGroup(broker_name=event.broker_name, gone=True)


def _cluster_changed(event: ClusterChanged) -> Iterable[Record]:
    yield Cluster(cluster=event.cluster_name, broker_names=in_order(event.broker_names))


def _topics_changed(event: TopicQueuesChanged) -> Iterable[Record]:
    rows, topics = event.after, event.topics
    # Not `all(map(...))`, which keeps the interpreter's lock from its start to its end: requests would wait.
    is_all = len(topics) == len(rows) and all(topic in rows for topic in topics)
    return topic_records(event.broker_name, rows, rows if is_all else topics)


def _name_removed(event: BrokerNameRemoved) -> Iterable[Record]:
    yield BrokerNameRemovedRecord(broker_name=event.broker_name)


def _mapping_changed(event: TopicMappingChanged) -> Iterable[Record]:
    mapping = NO_MAPPING if event.mapping is None else Raw(encode_mapping(event.mapping, standard=True))
    yield TopicMapping(
        topic=event.topic, broker_name=event.broker_name, mapping=mapping, gone=event.mapping is None
    )


def _filter_servers_changed(event: FilterServersChanged) -> Iterable[Record]:
    yield FilterServers(
        cluster=event.cluster_name,
        broker_addr=event.broker_addr,
        filter_servers=list(event.filter_servers),
    )


def _kv_changed(event: KvChanged) -> Iterable[Record]:
    yield Kv(namespace=event.namespace, key=event.key, value=event.value or "", gone=event.value is None)


def _config_changed(event: ConfigChanged) -> Iterable[Record]:
    properties = event.properties.items()
    yield Config(properties={name: MASKED if is_secret(name) else value for name, value in properties})


_RECORDS: Mapping[type, Callable[[Any], Iterable[Record]]] = {
    BrokerLiveChanged: _live_changed,
    BrokerLiveGone: _live_gone,
    BrokerGroupChanged: _group_changed,
    BrokerGroupGone: _group_gone,
    ClusterChanged: _cluster_changed,
    TopicQueuesChanged: _topics_changed,
    BrokerNameRemoved: _name_removed,
    TopicMappingChanged: _mapping_changed,
    FilterServersChanged: _filter_servers_changed,
    KvChanged: _kv_changed,
    ConfigChanged: _config_changed,
}
"""Events of state. Each makes one record; topic rows make a record for each ROWS_IN_A_RECORD topics."""
