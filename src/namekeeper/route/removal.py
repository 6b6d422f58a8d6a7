"""The ways in which a broker goes: unregistered, expired, connection closed, replaced (protocol.md 4.5-4.7).

One live registration stands behind each member of a group, so a removal takes both (differences from Java
are listed in docs/compatibility.md). A removal names the generation that it is meant for and does nothing
to a newer one.
"""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence

from msgspec import Struct, structs

from namekeeper.model.broker import MASTER_ID, BrokerData, BrokerKey
from namekeeper.model.now import Now
from namekeeper.route.change import Edit, Turn, Turns, shown
from namekeeper.route.channel import Channel
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    ClusterChanged,
    FilterServersChanged,
    MinBrokerIdChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
    TopicRow,
)
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.rows import changed_rows, without_write
from namekeeper.route.tables import RouteTables

__all__ = [
    "EndOfRegistration",
    "UnregisterBroker",
    "end_live",
    "end_mappings",
    "leave_group",
    "overdue",
    "trim_index",
    "trim_removed",
]

INDEX_SLICE = 5_000
"""Topics taken out of the index in one turn: about a millisecond."""


class UnregisterBroker(Struct, frozen=True):
    """UNREGISTER_BROKER (104): the broker says that it goes, or someone says so in its name."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    channel: Channel
    cause: Cause = Cause.UNREGISTER

    @property
    def remote_addr(self) -> str | None:
        """Who asked."""
        return self.channel.remote_addr

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The name given, and the one that the address is registered under."""
        live = tables.broker_live_table.get((self.cluster_name, self.broker_addr))
        return {self.broker_name} if live is None else {self.broker_name, live.broker_name}

    def run(self, tables: RouteTables, turn: Turn) -> Turns[None]:
        """Remove the address from its group, unless the request is older than the living registration."""
        edit = Edit(tables)
        if self.is_stale(tables):
            return edit.applied(None)
        removed: list[BrokerNameRemoved] = []
        for broker_name in sorted(self.touches(tables)):
            removed += leave_group(edit, broker_name, self.broker_addr, self.cause, turn.now)
        return (yield from shown(edit.applied(None), trim_removed(tables, removed)))

    def is_stale(self, tables: RouteTables) -> bool:
        """Whether a newer process of this address lives over another connection (docs/decisions/0002).

        Only a connection that spoke for the broker before the living generation began can be an old
        process's; any other request is honoured, as in Java.
        """
        key = (self.cluster_name, self.broker_addr)
        live = tables.broker_live_table.get(key)
        if live is None or live.channel is None or live.channel is self.channel or not live.channel.is_open:
            return False
        carried = self.channel.carried.get(key)
        return carried is not None and carried < live.gen


class EndOfRegistration(Struct, frozen=True):
    """One generation of one registration expired or lost its connection; a newer one is left alone."""

    key: BrokerKey
    gen: int
    cause: Cause
    """EXPIRED or CHANNEL_CLOSED."""
    remote_addr: str | None = None

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker name of the registration, if it is still there."""
        live = self._live(tables)
        return () if live is None else (live.broker_name,)

    def run(self, tables: RouteTables, turn: Turn) -> Turns[Channel | None]:
        """Remove it if it is still meant; the result is a connection to be closed, if any."""
        edit = Edit(tables)
        live = self._live(tables)
        if live is None or (self.cause is Cause.EXPIRED and not live.is_overdue(turn.now)):
            return edit.applied(None)
        removed = leave_group(edit, live.broker_name, live.broker_addr, self.cause, turn.now)
        nobody_left = not tables.broker_live_table.over_channel(live.channel_id)
        applied = edit.applied(live.channel if self.cause is Cause.EXPIRED and nobody_left else None)
        return (yield from shown(applied, trim_removed(tables, removed)))

    def _live(self, tables: RouteTables) -> BrokerLiveInfo | None:
        live = tables.broker_live_table.get(self.key)
        return live if live is not None and live.gen == self.gen else None


def overdue(tables: RouteTables, now: Now) -> list[EndOfRegistration]:
    """Registrations that must expire: what scanNotActiveBroker finds (protocol.md 4.6).

    A connection that is read from again is spared this one time.
    """
    ends = []
    heard_again = []
    for live in tables.broker_live_table:
        if live.is_overdue(now):
            ends.append(EndOfRegistration(live.key, live.gen, Cause.EXPIRED))
        elif live.channel is not None and live.channel.is_spared and not live.channel.is_paused:
            heard_again.append(live.channel)
    for channel in heard_again:
        channel.is_spared = False
    return ends


def leave_group(
    edit: Edit, broker_name: str, broker_addr: str, cause: Cause, now: Now
) -> list[BrokerNameRemoved]:
    """Take an address out of a group, with its registrations and what follows for the topics.

    Returns:
        The names that have no member left and whose topics the caller must trim from the index.
    """
    tables = edit.tables
    for live in tables.broker_live_table.of_name(broker_name):
        if live.broker_addr == broker_addr:
            end_live(edit, live, cause, now)
    group = tables.broker_addr_table.get(broker_name)
    if group is None:
        return []
    addrs = group.broker_addrs.values()
    if addrs and broker_addr not in addrs:  # a group that a refused registration left empty goes, as in Java
        return []
    left = {broker_id: addr for broker_id, addr in group.broker_addrs.items() if addr != broker_addr}
    if not left:
        return _remove_group(edit, group)
    _reduce_group(edit, group, left, broker_addr)
    return []


def end_live(edit: Edit, live: BrokerLiveInfo, cause: Cause, now: Now) -> None:
    """End one live registration, with its filter servers."""
    edit.apply(
        BrokerLiveGone(
            cluster_name=live.cluster_name,
            broker_addr=live.broker_addr,
            broker_name=live.broker_name,
            broker_id=live.broker_id,
            gen=live.gen,
            reason=cause,
            idle_ms=live.idle_ms(now),
            heartbeat_timeout_ms=live.heartbeat_timeout_ms,
        )
    )
    if live.key in edit.tables.filter_server_table:
        edit.apply(FilterServersChanged(live.cluster_name, live.broker_addr, ()))


def trim_index(tables: RouteTables, broker_name: str, topics: Sequence[str]) -> Generator[None, None, None]:
    """Take topics that a broker name has no more out of the index, a slice in a turn."""
    for start in range(0, len(topics), INDEX_SLICE):
        if start:
            yield
        tables.topic_index.discard(topics[start : start + INDEX_SLICE], broker_name)


def trim_removed(tables: RouteTables, removed: Iterable[BrokerNameRemoved]) -> Generator[None, None, None]:
    """Take the topics of broker names that are gone out of the index."""
    for gone in removed:
        yield from trim_index(tables, gone.broker_name, list(gone.before))


def _remove_group(edit: Edit, group: BrokerData) -> list[BrokerNameRemoved]:
    tables, name = edit.tables, group.broker_name
    edit.apply(BrokerGroupGone(name))
    for cluster_name, broker_names in list(tables.cluster_addr_table.items()):
        if name in broker_names:
            edit.apply(ClusterChanged(cluster_name, broker_names - {name}))
    topics = tables.topics_of(name)
    removed = []
    if topics:
        event = BrokerNameRemoved(name, topics)
        tables.drop_topics(event)
        edit.events.append(event)
        removed.append(event)
    for topic in list(tables.topic_queue_mapping_info_table):
        _end_orphaned_mappings(edit, topic)
    return removed


def end_mappings(edit: Edit, topics: Iterable[str], broker_name: str) -> None:
    """End the static-topic mappings of topics that this broker name has no more, and what that orphans."""
    table = edit.tables.topic_queue_mapping_info_table
    for topic in topics:
        if broker_name in table.get(topic, ()):
            edit.apply(TopicMappingChanged(topic, broker_name, None))
        _end_orphaned_mappings(edit, topic)


def _end_orphaned_mappings(edit: Edit, topic: str) -> None:
    """End the mappings of a topic that nobody has and none of whose names lives (trap T45).

    A name that is away keeps its logical queues while others have the topic; a living one whose row isn't
    there may get it with the next part of a split registration.
    """
    tables = edit.tables
    by_name = tables.topic_queue_mapping_info_table.get(topic, {})
    if tables.broker_addr_table.keys().isdisjoint(by_name) and not tables.rows_of(topic):
        for broker_name in list(by_name):
            edit.apply(TopicMappingChanged(topic, broker_name, None))


def _reduce_group(edit: Edit, group: BrokerData, left: dict[int, str], gone_addr: str) -> None:
    tables, name = edit.tables, group.broker_name
    edit.apply(BrokerGroupChanged(structs.replace(group, broker_addrs=left)))
    if not group.enable_acting_master:
        return
    if MASTER_ID not in left:
        _strip_write(edit, name, tables.topics_of(name))
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


def _strip_write(edit: Edit, broker_name: str, before: Mapping[str, TopicRow]) -> None:
    """Nobody may write to a group whose master is away and whose slave acts for it (protocol.md 4.5)."""
    changed = changed_rows(before, without_write)
    if changed:
        event = TopicQueuesChanged(broker_name, before, {**before, **changed}, tuple(changed))
        edit.tables.swap_topics(event)
        edit.events.append(event)
