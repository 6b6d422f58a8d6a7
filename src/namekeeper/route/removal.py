"""The removal of a broker: unregistered, expired, connection closed, replaced (protocol.md 4.5 to 4.7).

Each member of a group has one live registration, and a removal ends both (docs/decisions/0002). An expiry and
a closed connection name the generation that they end, and leave a newer one alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from msgspec import Struct, structs

from namekeeper.model.broker import MASTER_ID, BrokerData, BrokerKey, Owner
from namekeeper.model.now import Now
from namekeeper.route.broker_names import BrokerNames
from namekeeper.route.change import Applied, Edit
from namekeeper.route.channel import Channel
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    ClusterChanged,
    Event,
    FilterServersChanged,
    MinBrokerIdChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.rows import ChangedTable, without_write
from namekeeper.route.tables import RouteTables
from namekeeper.route.takeover import Claimant, unregistered

__all__ = [
    "EndOfRegistration",
    "UnregisterBroker",
    "UnregisterResult",
    "end_live",
    "end_mapping",
    "end_mappings",
    "end_orphaned_mappings",
    "end_sparing",
    "is_orphan",
    "leave_group",
    "overdue",
    "trim_index",
    "trim_removed",
]

_NO_TABLES: Mapping[str, ChangedTable] = MappingProxyType({})

INDEX_SLICE = 2_000
"""Topics taken out of the index in one slice: about half a millisecond."""


class Removal:
    """A change that takes an address out of its group, and may remove the broker name with all its topics."""

    __slots__ = ()

    @property
    def gone_addr(self) -> str:
        """The address that it removes."""
        raise NotImplementedError

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker names that may lose it."""
        raise NotImplementedError

    @cached_property
    def wiped(self) -> dict[str, ChangedTable]:
        """Broker name that loses its master -> its table without write permission, once it is built."""
        return {}

    def build(self, tables: RouteTables) -> Iterator[None]:
        """Make the tables of broker names whose smallest slave will act as master."""
        for name in self.touches(tables):
            group = tables.broker_addr_table.get(name)
            if group is not None and _loses_master(group, _left(group, self.gone_addr)):
                self.wiped[name] = table = ChangedTable(tables.topics_of(name))
                yield from table.build(without_write)

    def clean_up(self, tables: RouteTables, applied: Applied[Any]) -> Iterator[None]:
        """Take the topics of removed broker names out of the index."""
        return trim_removed(tables, applied.events)


class UnregisterResult(Struct, frozen=True):
    """The result of an unregistration."""

    takeover: str = ""
    """The live broker of another host that it would have ended, in words: then it changed nothing."""


class UnregisterBroker(Removal, Struct, frozen=True, dict=True):
    """UNREGISTER_BROKER (104): sent by a broker that stops, or by an administrator."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    channel: Channel
    cause: Cause = Cause.UNREGISTER
    may_take_over: bool = False
    """Whether it may end a live broker of another host (protectBrokerNames)."""
    owner: Owner | None = None
    """The requester; None for the owner that the connection proves."""

    @property
    def remote_addr(self) -> str | None:
        """The address of the requester."""
        return self.channel.remote_addr

    @property
    def gone_addr(self) -> str:
        """The address in the request."""
        return self.broker_addr

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The name given, and the name under which the address is registered."""
        live = tables.broker_live_table.get((self.cluster_name, self.broker_addr))
        return {self.broker_name} if live is None else {self.broker_name, live.broker_name}

    def commit(self, tables: RouteTables, now: Now) -> Applied[UnregisterResult]:
        """Remove the address from its group, unless the live registration is newer, or of another host."""
        edit = Edit(tables, now)
        broker_names = sorted(self.touches(tables))
        sender = None if self.may_take_over else Claimant(self.channel, self.owner or self.channel.owner)
        takeover = unregistered(tables, (self.cluster_name, self.broker_addr), broker_names, sender)
        if not takeover and not self.is_stale(tables):
            for broker_name in broker_names:
                leave_group(edit, broker_name, self.broker_addr, self.cause, wiped=self.wiped)
        return edit.applied(UnregisterResult(takeover))

    def is_stale(self, tables: RouteTables) -> bool:
        """Whether another process than the live one sent the request (docs/decisions/0002).

        A connection belongs to an old process only if it carried a 103, 322 or 904 of the broker before the
        live generation started. The server obeys a request over any other connection, as Java does.
        """
        key = (self.cluster_name, self.broker_addr)
        live = tables.broker_live_table.get(key)
        if live is None or live.channel is None or live.channel is self.channel or not live.channel.is_open:
            return False
        carried = self.channel.carried.get(key)
        return carried is not None and carried < live.gen


class EndOfRegistration(Removal, Struct, frozen=True, dict=True):
    """The end of one generation of one registration: it expired or lost its connection."""

    key: BrokerKey
    gen: int
    cause: Cause
    """EXPIRED or CHANNEL_CLOSED."""
    remote_addr: str | None = None
    closed_by: str = ""
    """The end of its connection, a value of `ClosedBy`."""

    @property
    def gone_addr(self) -> str:
        """The address of the registration."""
        return self.key[1]

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker name of the registration, if it is still there."""
        live = self._live(tables)
        return () if live is None else (live.broker_name,)

    def commit(self, tables: RouteTables, now: Now) -> Applied[Channel | None]:
        """Remove the registration if it still has to end; the result is a connection to be closed, if any."""
        edit = Edit(tables, now)
        live = self._live(tables)
        if live is None or (self.cause is Cause.EXPIRED and not live.is_overdue(now)):
            return edit.applied(None)
        leave_group(edit, live.broker_name, live.broker_addr, self.cause, self.closed_by, wiped=self.wiped)
        nobody_left = not tables.broker_live_table.over_channel(live.channel_id)
        return edit.applied(live.channel if self.cause is Cause.EXPIRED and nobody_left else None)

    def _live(self, tables: RouteTables) -> BrokerLiveInfo | None:
        live = tables.broker_live_table.get(self.key)
        return live if live is not None and live.gen == self.gen else None


def overdue(tables: RouteTables, now: Now) -> list[EndOfRegistration]:
    """The ends of all registrations that must expire, as in scanNotActiveBroker (protocol.md 4.6)."""
    return [
        EndOfRegistration(live.key, live.gen, Cause.EXPIRED)
        for live in tables.broker_live_table
        if live.is_overdue(now)
    ]


def end_sparing(tables: RouteTables) -> None:
    """Let brokers expire from the next scan on if the server reads from their connection again."""
    for live in tables.broker_live_table:
        if live.channel is not None and live.channel.is_spared and not live.channel.is_paused:
            live.channel.is_spared = False


def leave_group(
    edit: Edit,
    broker_name: str,
    broker_addr: str,
    cause: Cause,
    closed_by: str = "",
    *,
    wiped: Mapping[str, ChangedTable] = _NO_TABLES,
) -> None:
    """Take an address out of a group, with its registrations and the consequences for the topics.

    If the group is empty then, its topics are gone but still in the index: see `trim_removed`.

    Args:
        edit: the commit.
        broker_name: the group.
        broker_addr: the address.
        cause: the reason.
        closed_by: the end of its connection, a value of `ClosedBy`.
        wiped: broker name -> its table without write permission, as far as it is built.
    """
    tables = edit.tables
    for live in tables.broker_live_table.of_name(broker_name):
        if live.broker_addr == broker_addr:
            end_live(edit, live, cause, closed_by)
    group = tables.broker_addr_table.get(broker_name)
    if group is None:
        return
    if broker_addr not in group.broker_addrs.values():
        return
    left = _left(group, broker_addr)
    if left:
        _reduce_group(edit, group, left, broker_addr, wiped.get(broker_name))
    else:
        _remove_group(edit, group)


def end_live(edit: Edit, live: BrokerLiveInfo, cause: Cause, closed_by: str = "") -> None:
    """End one live registration, with its filter servers."""
    edit.apply(
        BrokerLiveGone(
            cluster_name=live.cluster_name,
            broker_addr=live.broker_addr,
            broker_name=live.broker_name,
            broker_id=live.broker_id,
            gen=live.gen,
            reason=cause,
            idle_ms=live.idle_ms(edit.now),
            heartbeat_timeout_ms=live.heartbeat_timeout_ms,
            closed_by=closed_by,
        )
    )
    if live.key in edit.tables.filter_server_table:
        edit.apply(FilterServersChanged(live.cluster_name, live.broker_addr, ()))


def trim_index(tables: RouteTables, broker_name: str, topics: Sequence[str]) -> Iterator[None]:
    """Take topics that a broker name has lost out of the index, incrementally."""
    for start in range(0, len(topics), INDEX_SLICE):
        if start:
            yield
        tables.unindex_topics(topics[start : start + INDEX_SLICE], broker_name)


def trim_removed(tables: RouteTables, events: Iterable[Event]) -> Iterator[None]:
    """Take the topics of removed broker names out of the index, incrementally."""
    for event in events:
        if isinstance(event, BrokerNameRemoved):
            yield from trim_index(tables, event.broker_name, list(event.before))


def _remove_group(edit: Edit, group: BrokerData) -> None:
    tables, name = edit.tables, group.broker_name
    edit.apply(BrokerGroupGone(name))
    for cluster_name, broker_names in list(tables.cluster_addr_table.items()):
        if name in broker_names:
            edit.apply(ClusterChanged(cluster_name, BrokerNames.of(broker_names).without_name(name)))
    topics = tables.topics_of(name)
    if topics:
        edit.apply(BrokerNameRemoved(name, topics), updates_index=False)
    # No other mapping can be an orphan now: thousands of names may go, and there may be 100,000 mappings.
    of_its_topics = topics.keys() & tables.topic_queue_mapping_info_table.keys()
    for topic in sorted(of_its_topics.union(tables.mapped_topics_of(name))):
        end_orphaned_mappings(edit, topic)


def end_mappings(edit: Edit, topics: Iterable[str], broker_name: str) -> None:
    """End the static-topic mappings of topics that this broker name lost, and orphaned ones."""
    for topic in topics:
        end_mapping(edit, topic, broker_name)
        end_orphaned_mappings(edit, topic)


def end_mapping(edit: Edit, topic: str, broker_name: str) -> None:
    """End the static-topic mapping of a topic that this broker name lost, if it has one."""
    if broker_name in edit.tables.topic_queue_mapping_info_table.get(topic, ()):
        edit.apply(TopicMappingChanged(topic, broker_name, None))


def end_orphaned_mappings(edit: Edit, topic: str) -> None:
    """End the mappings of a topic that no broker name has, if no name of a mapping has a group (trap T45)."""
    by_name = edit.tables.topic_queue_mapping_info_table.get(topic, {})
    if by_name and is_orphan(edit.tables, topic, *by_name):
        for broker_name in list(by_name):
            edit.apply(TopicMappingChanged(topic, broker_name, None))


def is_orphan(tables: RouteTables, topic: str, *broker_names: str) -> bool:
    """Whether no broker can use the mappings of a topic by these names any more.

    A name without group keeps its logical queues while other names have the topic. A name with a group may
    get the row of the topic with the next part of a split registration.
    """
    return tables.broker_addr_table.keys().isdisjoint(broker_names) and not tables.has_topic(topic)


def _left(group: BrokerData, gone_addr: str) -> dict[int, str]:
    """The members of a group without an address."""
    return {broker_id: addr for broker_id, addr in group.broker_addrs.items() if addr != gone_addr}


def _loses_master(group: BrokerData, left: Mapping[int, str]) -> bool:
    """Whether a slave acts as the master of a group with these members; no client may write then."""
    return bool(left) and group.enable_acting_master and min(left) > MASTER_ID


def _wipe(edit: Edit, broker_name: str, built: ChangedTable | None) -> None:
    """Take the write permission of all topics of a broker name, in effect."""
    table = built
    if table is None or table.before is not edit.tables.topics_of(broker_name):
        table = ChangedTable(edit.tables.topics_of(broker_name))
        for _ in table.build(without_write):
            pass
    if table.changed:
        event = TopicQueuesChanged(broker_name, table.before, table.after, tuple(table.changed))
        edit.apply(event, updates_index=False)


def _reduce_group(
    edit: Edit, group: BrokerData, left: dict[int, str], gone_addr: str, wiped: ChangedTable | None
) -> None:
    tables, name = edit.tables, group.broker_name
    edit.apply(BrokerGroupChanged(structs.replace(group, broker_addrs=left)))
    if not group.enable_acting_master:
        return
    if _loses_master(group, left):
        _wipe(edit, name, wiped)
    if tables.rules.notify_min_broker_id_changed and min(group.broker_addrs) != min(left):
        edit.apply(
            MinBrokerIdChanged(
                broker_name=name,
                min_broker_id=min(left),
                min_broker_addr=left[min(left)],
                recipients=tuple(left.values()),
                offline_broker_addr=gone_addr,
            )
        )
