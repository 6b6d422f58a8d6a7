"""Changes of single topics and of permissions: 205, 216, 217, 327 (protocol.md 2.4, 2.6, 2.12).

A topic table of a broker name may have 100,000 rows, and each change makes a new table. So the build makes
the new tables incrementally before the commit, and the server handles other requests in between
(docs/decisions/0003).
"""

from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Any

from msgspec import Struct, field

from namekeeper.model.now import Now
from namekeeper.model.topic import QueueSpec
from namekeeper.route.broker_names import NO_NAMES
from namekeeper.route.change import Applied, Edit
from namekeeper.route.events import Cause, TopicQueuesChanged, TopicRow
from namekeeper.route.removal import end_mapping, end_orphaned_mappings
from namekeeper.route.rows import READ_WRITE, ChangedTable, TableCopies, make_row, with_perm, without_write
from namekeeper.route.tables import RouteTables

__all__ = ["ChangeWritePerm", "DeleteTopic", "RegisterTopic"]


class _NothingLeft:
    """A change that leaves nothing to clean up after its commit."""

    __slots__ = ()

    def clean_up(self, tables: RouteTables, applied: Applied[Any]) -> Iterator[None]:
        """Return no slices."""
        return iter(())


class ChangeWritePerm(_NothingLeft, Struct):
    """WIPE_WRITE_PERM_OF_BROKER (205) or ADD_WRITE_PERM_OF_BROKER (327), in effect only.

    The registered permission stays: an unchanged registration leaves the new permission in effect, a changed
    one overwrites it. The result is the number of topics that the broker name has.
    """

    broker_name: str
    cause: Cause
    """WIPE_WRITE_PERM or ADD_WRITE_PERM."""
    remote_addr: str | None = None
    table: ChangedTable | None = None
    """The new table, once it is built."""

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker name."""
        return (self.broker_name,)

    def build(self, tables: RouteTables) -> Iterator[None]:
        """Make the table with the other permission."""
        change = without_write if self.cause is Cause.WIPE_WRITE_PERM else _read_write
        self.table = table = ChangedTable(tables.topics_of(self.broker_name))
        return table.build(change)

    def commit(self, tables: RouteTables, now: Now) -> Applied[int]:
        """Replace the table of the name: it is unchanged since `build`, as changes of a name wait."""
        edit, table = Edit(tables, now), self.table
        assert table is not None
        if table.changed:
            event = TopicQueuesChanged(self.broker_name, table.before, table.after, tuple(table.changed))
            edit.apply(event, updates_index=False)
        return edit.applied(len(table.before))


class DeleteTopic(_NothingLeft, Struct):
    """DELETE_TOPIC_IN_NAMESRV (216): everywhere, or on the broker names of one cluster."""

    topic: str
    cluster_name: str | None = None
    remote_addr: str | None = None
    cause: Cause = Cause.DELETE_TOPIC
    copies: TableCopies = field(default_factory=TableCopies)

    def touches(self, tables: RouteTables) -> Collection[str]:
        """Broker names that have the topic, within the cluster if one is given."""
        names = {name for name, _ in tables.rows_of(self.topic)}
        if self.cluster_name:
            members = tables.cluster_addr_table.get(self.cluster_name, NO_NAMES)
            names = {name for name in names if name in members}
        return names

    def build(self, tables: RouteTables) -> Iterator[None]:
        """Copy the tables that have the topic now; the commit copies one that gets it meanwhile."""
        return self.copies.make(tables, sorted(self.touches(tables)))

    def commit(self, tables: RouteTables, now: Now) -> Applied[None]:
        """Drop the rows; thousands of broker names may have the topic, so its orphans are looked for once."""
        edit = Edit(tables, now)
        names = sorted(self.touches(tables))
        topics = (self.topic,)
        edit.apply_to_names([self._deletion(tables, broker_name, topics) for broker_name in names])
        for broker_name in names:
            end_mapping(edit, self.topic, broker_name)
            tables.forget_bodies(broker_name)
        if names:
            end_orphaned_mappings(edit, self.topic)
        return edit.applied(None)

    def _deletion(self, tables: RouteTables, broker_name: str, topics: tuple[str]) -> TopicQueuesChanged:
        before, after = tables.topics_of(broker_name), self.copies.take(tables, broker_name)
        del after[self.topic]
        return TopicQueuesChanged(broker_name, before, after, topics)


class RegisterTopic(_NothingLeft, Struct):
    """REGISTER_TOPIC_IN_NAMESRV (217): queues of one topic, each on a broker name that must have a group.

    The first name without a group ends the change: earlier entries stay if the topic existed, and none stays
    if it was new (protocol.md 2.12). Of several entries of one name the last one counts.
    """

    topic: str
    queues: tuple[tuple[str, QueueSpec], ...]
    """(broker name, queues), in the order of the request."""
    remote_addr: str | None = None
    cause: Cause = Cause.REGISTER_TOPIC
    copies: TableCopies = field(default_factory=TableCopies)

    def give_up(self) -> None:
        """Drop the queues, because the connection has closed: the change changes nothing."""
        self.queues, self.copies = (), TableCopies()

    def touches(self, tables: RouteTables) -> Collection[str]:
        """The broker names of the request."""
        return {broker_name for broker_name, _ in self.queues}

    def build(self, tables: RouteTables) -> Iterator[None]:
        """Copy the tables whose row of the topic will change."""
        names = [name for name, row in self._rows(tables).items() if self._differs(tables, name, row)]
        return self.copies.make(tables, names)

    def commit(self, tables: RouteTables, now: Now) -> Applied[None]:
        """Set the registered queues and the queues in effect alike."""
        edit = Edit(tables, now)
        rows = self._rows(tables)
        if len(rows) < len(self.touches(tables)) and not tables.has_topic(self.topic):
            return Applied(None)
        changed = [(name, row) for name, row in rows.items() if self._differs(tables, name, row)]
        topics = (self.topic,)
        edit.apply_to_names([self._change(tables, broker_name, row, topics) for broker_name, row in changed])
        for broker_name in rows:
            tables.forget_bodies(broker_name)
        return edit.applied(None)

    def _change(
        self, tables: RouteTables, broker_name: str, row: TopicRow, topics: tuple[str]
    ) -> TopicQueuesChanged:
        before, after = tables.topics_of(broker_name), self.copies.take(tables, broker_name)
        after[self.topic] = row
        return TopicQueuesChanged(broker_name, before, after, topics)

    def _rows(self, tables: RouteTables) -> dict[str, TopicRow]:
        """The row of each broker name that comes before the first one without a group."""
        known = takewhile(lambda queue: queue[0] in tables.broker_addr_table, self.queues)
        return {broker_name: make_row(spec, spec) for broker_name, spec in dict(known).items()}

    def _differs(self, tables: RouteTables, broker_name: str, row: TopicRow) -> bool:
        return tables.topics_of(broker_name).get(self.topic) != row


def _read_write(row: TopicRow) -> TopicRow:
    """Set exactly read and write: the inherit bit is lost, as in Java (trap T31)."""
    return with_perm(row, READ_WRITE)
